"""Tests of the bots in chats. What goes wrong in the afternoon is shown as in a test."""

import pytest

pytest.register_assert_rewrite("tests.channels.afternoon")
