"""LightRAG itself, from the registry of packages: it is tested against, and is no dependency of Lightwell."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lightwell.entrypoints.http.lightrag_speech import VERSION


def install_lightrag(folder: Path, *, with_dependencies: bool = False) -> Path:
    """Put LightRAG into a folder, and return that of its package; skip the test without uv."""
    install(folder, f"lightrag-hku=={VERSION}", with_dependencies=with_dependencies)
    return folder / "lightrag"


def install(folder: Path, package: str, *, with_dependencies: bool = False) -> None:
    """Put a package into a folder; skip the test without uv."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        assert not os.environ.get("CI"), "uv is not there"
        pytest.skip("LightRAG is installed by uv")
    options = [] if with_dependencies else ["--no-deps"]
    command = [uv, "pip", "install", "--quiet", "--target", str(folder), *options]
    done = subprocess.run([*command, package], capture_output=True, text=True)
    if done.returncode:
        assert not os.environ.get("CI"), done.stderr
        pytest.skip(f"{package} cannot be installed here: {done.stderr[-300:]}")
