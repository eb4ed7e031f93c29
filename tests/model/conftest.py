"""Tests with a real model, for `make test-model`: elsewhere they are not collected."""

import os

collect_ignore_glob = [] if os.environ.get("LIGHTWELL_TEST_GGUF") else ["test_*.py"]
