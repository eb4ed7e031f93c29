"""The system account of the embedded PostgreSQL, where this process is root."""

import os
import pwd
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lightwell.stores.embedded import _programs

# What useradd does: it makes the account some time after it looked whether there is one.
_USERADD = "#!/bin/sh\necho began >> {log}\nsleep 0.2\necho made >> {log}\n"


def test_programs_that_start_together_make_the_account_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, useradd = tmp_path / "log", tmp_path / "useradd"
    useradd.write_text(_USERADD.format(log=log))
    useradd.chmod(0o755)
    log.touch()
    made = pwd.getpwuid(0)

    def look_up(name: str) -> pwd.struct_passwd:
        if name == "lightwell" and "made" not in log.read_text():
            raise KeyError(name)
        return made

    def find(_program: str, path: str) -> str:
        assert "/usr/sbin" in path
        return str(useradd)

    monkeypatch.setattr(pwd, "getpwnam", look_up)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", find)
    with ThreadPoolExecutor(4) as programs:
        accounts = set(programs.map(_programs.server_account, [tmp_path / "new"] * 4))
    assert accounts == {_programs.Account(user=made.pw_uid, group=made.pw_gid)}
    assert log.read_text().split() == ["began", "made"]
