"""The program in the process of the tests, which has the libraries already; its output apart from theirs."""

import os
import subprocess
from contextlib import chdir
from pathlib import Path

from typer.testing import CliRunner

from lightwell.entrypoints.cli import app

Ended = subprocess.CompletedProcess[str]


def run(home: Path, *arguments: str, stdin: str = "", **settings: str) -> Ended:
    """Run `lightwell` with these arguments in `home`, on its `data/` and with no settings and no logins but these.

    An exception that would end a process with a traceback is raised.
    """
    inherited = dict.fromkeys(name for name in os.environ if name.startswith("LIGHTWELL_"))
    own = {"LIGHTWELL_DATA": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config")}
    with chdir(home):
        result = CliRunner().invoke(app, arguments, input=stdin, env=inherited | own | settings)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return subprocess.CompletedProcess(arguments, result.exit_code, result.stdout, result.stderr)
