"""The S3 server of moto for tests, installed once into an environment of its own in the user's cache: it is 180 MB."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import platformdirs
import pytest

from tests.ports import free_port

_FOLDER = platformdirs.user_cache_path("lightwell-tests") / "moto"
_REQUIREMENT = "moto[server]==5.2.5"
_START_SECONDS = 120.0


@contextmanager
def use_moto() -> Generator[str]:
    """Yield the address of a server with the empty bucket `files`; skip where it cannot be installed, except in CI."""
    python = _install()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [str(python.with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(url)
        httpx.put(f"{url}/files").raise_for_status()
        yield url
    finally:
        server.terminate()
        server.wait()


def _install() -> Path:
    python = _FOLDER / "bin" / "python"
    if (_FOLDER / _REQUIREMENT).exists():
        return python
    uv = os.environ.get("UV") or shutil.which("uv") or "uv"
    try:
        for command in (
            [uv, "venv", "-q", "--clear", "--python", sys.executable, str(_FOLDER)],
            [uv, "pip", "install", "-q", "--python", str(python), _REQUIREMENT],
        ):
            subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"moto cannot be installed here: {error}")
    (_FOLDER / _REQUIREMENT).touch()
    return python


def _wait(url: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            httpx.get(url)
        except httpx.TransportError:
            assert time.monotonic() < deadline, "moto did not start"
            time.sleep(0.1)
        else:
            return
