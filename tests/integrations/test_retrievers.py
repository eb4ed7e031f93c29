"""The retrievers of `lightwell.integrations`, each with its real framework, in an environment of its own, against a real server.

The cases are the modules beside this one; LangChain's are its own standard tests.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lightwell.testing.server import temporary_folder
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, serving_in_thread
from tests.entrypoints.test_wheel import uv
from tests.patience import PATIENCE
from tests.shape.test_dependencies import COPYLEFT

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXTRAS = ("langchain", "llama-index", "haystack")
TEAM = ("team:a",)
DOCUMENTS = (
    make_document(
        "orders.md", "# Orders\n\nAcme Corp ordered 40 pumps from Nordwind in March.", TEAM
    ),
    make_document(
        "prices.md", "# Prices\n\nNordwind pumps cost 900 euros. Acme Corp ordered some.", TEAM
    ),
    make_document("pumps.md", "# Pumps\n\nNordwind makes pumps. Somebody ordered them.", TEAM),
    make_document("secret.md", "Zeta ordered pumps from Nordwind in secret.", ("team:board",)),
)
_LICENCES = """
from importlib.metadata import distributions
for each in distributions():
    metadata = each.metadata
    classifiers = [line for line in metadata.get_all("Classifier") or () if line.startswith("License")]
    print(metadata["Name"], metadata["License-Expression"] or classifiers)
"""


async def prepare(site: Site) -> str:
    await site.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    return await site.key(*TEAM)


@pytest.fixture(scope="module")
def site(databases: Databases) -> Iterator[tuple[str, str]]:
    with databases.lent() as database, serving_in_thread(database, prepare) as served:
        yield served


@pytest.fixture(scope="module")
def python() -> Iterator[Path]:
    """The interpreter of an environment with what the extras lock, and the frameworks' own tests."""
    with temporary_folder() as folder:
        locked = folder / "requirements.txt"
        chosen = [word for extra in EXTRAS for word in ("--extra", extra)]
        uv(
            "export",
            "--quiet",
            "--frozen",
            "--no-dev",
            "--no-hashes",
            *chosen,
            "--output-file",
            locked,
        )
        program = folder / "venv" / "bin" / "python"
        uv("venv", "--quiet", folder / "venv")
        uv("pip", "install", "--quiet", "--python", program, "-r", locked, "langchain-tests")
        yield program


@pytest.mark.parametrize("name", ["langchain", "llama_index", "haystack"])
def test_a_retriever_is_one_of_its_framework(
    python: Path, site: tuple[str, str], name: str
) -> None:
    url, key = site
    own = {"TEST_SERVER": url, "LIGHTWELL_API_KEY": key, "HAYSTACK_TELEMETRY_ENABLED": "false", "LANGSMITH_TRACING": "false"}  # fmt: skip
    case = Path(__file__).parent / f"{name}_case.py"
    options = "-q --noconftest -p no:cacheprovider -o asyncio_mode=auto -c".split()
    ended = subprocess.run(
        [python, "-m", "pytest", *options, os.devnull, "--rootdir", ROOT, case],
        cwd=ROOT,
        env=os.environ | own | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "passed" in ended.stdout
    assert "skipped" not in ended.stdout


def test_the_frameworks_bind_no_user(python: Path) -> None:
    listed = subprocess.run([python, "-c", _LICENCES], capture_output=True, text=True, check=True, timeout=PATIENCE)  # fmt: skip
    lines = listed.stdout.splitlines()
    assert len(lines) > 100
    assert [line for line in lines if COPYLEFT.search(line)] == []
