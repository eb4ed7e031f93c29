"""The examples of docs/push.md push with the real packages of dlt, unstructured-ingest and LlamaIndex, installed apart from ours."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import pytest

from lightwell.client import Client
from lightwell.domain.api_keys import Scope
from lightwell.domain.directory import PersonChange
from lightwell.entrypoints.operations.pushes import PushReport
from lightwell.knowledge_base.directory import Directory
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, serving_in_thread

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "push"
PACKAGES = ("dlt==1.31.0", "unstructured-ingest==1.12.0", "llama-index-core==0.14.25")
ADA, BO = "ada@halden.example", "bo@tern.example"

# What Google Drive says of a file, as its own connector makes it of the API's reply.
DRIVE = """
import json, sys
from unstructured_ingest.data_types.file_data import FileData, FileDataSourceMetadata, SourceIdentifiers
from unstructured_ingest.processes.connectors.google_drive import GoogleDriveIndexer
from unstructured_items import allowed
permissions = GoogleDriveIndexer.extract_permissions(None, [
    {"id": "1", "type": "user", "role": "reader"}, {"id": "2", "type": "user", "role": "owner"},
    {"id": "sales", "type": "group", "role": "writer"}, {"id": "anyoneWithLink", "type": "anyone", "role": "reader"}])
file = FileData(identifier="x", connector_type="google_drive", source_identifiers=SourceIdentifiers(filename="x", fullpath="x"),
                metadata=FileDataSourceMetadata(permissions_data=json.loads(json.dumps(permissions, default=sorted))))
print(json.dumps(allowed(file, {"1": "ada@halden.example"})))
"""


@dataclass(frozen=True)
class Server:
    url: str
    pusher: str
    readers: Mapping[str, str]

    def push(self, source: str, output: bytes) -> PushReport:
        with Client(self.url, api_key=self.pusher) as client:
            return client.push(source, output.splitlines(), everything=True)

    def titles(self, person: str) -> list[str]:
        with Client(self.url, api_key=self.readers[person]) as client:
            return sorted(document.title for document in client.list_documents().documents)


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python with the packages."""
    folder = platformdirs.user_cache_path("lightwell-tests") / "push-examples"
    installed = folder / "installed.json"
    program = folder / "bin" / "python"
    if installed.exists() and json.loads(installed.read_text()) == [*PACKAGES]:
        return program
    uv = os.environ.get("UV") or shutil.which("uv") or "uv"
    try:
        for command in (
            [uv, "venv", "-q", "--clear", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "-q", "--python", str(program), *PACKAGES],
        ):
            subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the packages cannot be installed here: {error}")
    installed.write_text(json.dumps(PACKAGES))
    return program


@pytest.fixture(scope="module")
def place(databases: Databases) -> Iterator[Server]:
    async def prepare(site: Site) -> tuple[str, dict[str, str]]:
        directory = Directory(database=site.keys.database, project_id=site.kb.project_id)
        for name in (ADA, BO):
            await directory.create_person(PersonChange(email=name))
        admin = (Scope.ADMIN,)
        for name in ("tickets", "drive", "notes"):
            made = {"name": name, "system": "push"}
            await site.request("POST", "/v1/sources", scopes=admin, json=made)
        readers = {name: await site.key(person=name) for name in (ADA, BO)}
        return await site.key(scopes=admin), readers

    with databases.lent() as url, serving_in_thread(url, prepare) as (address, made):
        yield Server(address, *made)


def run(python: Path, home: Path, *words: str, **variables: str) -> bytes:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(EXAMPLES)}
    ended = subprocess.run(
        [str(python), *words],
        env=environment | variables,
        cwd=home,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "sub").mkdir(parents=True)
    (made / "a.txt").write_text("Nordwind ordered two pumps.")
    (made / "sub" / "b.md").write_text("# Valves\n\nTern sells valves.\n")
    return made


def test_a_pipeline_of_dlt_loads_into_lightwell(
    python: Path, place: Server, tmp_path: Path
) -> None:
    settings = {"URL": place.url, "SOURCE": "tickets", "KEY": place.pusher}
    variables = {f"DESTINATION__LIGHTWELL__{name}": text for name, text in settings.items()}
    for _ in range(2):
        run(python, tmp_path, str(EXAMPLES / "dlt_destination.py"), **variables)
    assert place.titles(ADA) == ["Leaking pump"]
    assert place.titles(BO) == []


def test_files_of_unstructured_ingest_keep_their_permissions(
    python: Path, place: Server, tmp_path: Path, folder: Path
) -> None:
    people = tmp_path / "people.json"
    people.write_text("{}")
    example = str(EXAMPLES / "unstructured_items.py")
    output = run(python, tmp_path, example, str(folder), str(people))
    assert place.push("drive", output).inserted == 2
    allowed = json.loads(run(python, tmp_path, "-c", DRIVE))
    assert allowed == {"people": [ADA], "groups": ["sales"]}
    for line in map(json.loads, output.splitlines()):
        assert line["allow"] == {"people": [], "groups": []}  # a folder names nobody


def test_a_reader_of_llamahub_is_pushed(
    python: Path, place: Server, tmp_path: Path, folder: Path
) -> None:
    example = str(EXAMPLES / "llamahub_items.py")
    output = run(python, tmp_path, example, str(folder), "@tern.example")
    assert place.push("notes", output).inserted == 2
    assert place.titles(BO) == ["a.txt", "b.md"]
    (folder / "a.txt").unlink()
    output = run(python, tmp_path, example, str(folder), "@tern.example")
    report = place.push("notes", output)
    assert (report.unchanged, report.deleted) == (1, 1)
