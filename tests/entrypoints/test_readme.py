"""The README's example runs unchanged and prints exactly what its comments say."""

import os
import re
import subprocess
import sys
from pathlib import Path

from lightwell.testing.server import temporary_folder

README = Path(__file__).parents[2] / "README.md"


def test_the_example_in_the_readme_runs() -> None:
    code = README.read_text("utf-8").split("```python\n")[1].split("```")[0]
    with temporary_folder() as folder:
        ended = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env={**os.environ, "LIGHTWELL_DATA": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
    promised = re.findall(r"^ +print\(.*\)  # (.+)$", code, re.MULTILINE)
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == promised
    assert promised[0] == "Nordwind receives a discount of 18 percent on all items."
