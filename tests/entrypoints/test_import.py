"""`lightwell import lightrag`: documents with names and dates, what people wrote by hand, and a second import that changes nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lightwell.stores.embedded.server import run_server
from lightwell.testing.server import temporary_folder
from tests.entrypoints.program import Ended, run
from tests.lightrag_package import install_lightrag

ROOT = Path(__file__).parents[2]
DISCOUNT = "What discount does Nordwind receive?"
DOCUMENTS = {
    "doc-1": {
        "content": "Nordwind sells pumps to Osprey, with a discount of 18 percent.",
        "file_path": "orders.txt",
    },
    "doc-2": {"content": "# Valves\n\nOsprey buys valves of Zeta.", "file_path": "valves.md"},
}
STATUSES = {name: {"created_at": "2025-03-04T05:06:07+00:00"} for name in DOCUMENTS}
GRAPH = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d1" attr.name="description"/><key id="d2" attr.name="source_id"/><key id="d3" attr.name="entity_type"/>
<graph><node id="Tarn Valley"><data key="d1">A valley.</data><data key="d2">manual_creation</data><data key="d3">location</data></node>
<edge source="Osprey" target="Tarn Valley"><data key="d1">It stands there.</data></edge>
<edge source="Osprey" target="Nobody"><data key="d1">It stands there.</data></edge></graph></graphml>"""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_folder() as folder, run_server(folder / "data") as conninfo:
        (folder / "conninfo").write_text(conninfo, "utf-8")
        yield folder


def lightwell(home: Path, *arguments: str, project: str = "default") -> Ended:
    return run(home, *arguments, LIGHTWELL_PROJECT=project)


def write(folder: Path) -> None:
    folder.mkdir()
    (folder / "kv_store_full_docs.json").write_text(json.dumps(DOCUMENTS), "utf-8")
    (folder / "kv_store_doc_status.json").write_text(json.dumps(STATUSES), "utf-8")
    (folder / "graph_chunk_entity_relation.graphml").write_text(GRAPH, "utf-8")


def test_a_working_directory_comes_in_once_for_those_who_may_see_it(home: Path) -> None:
    write(home / "storage")
    estimate = lightwell(home, "import", "lightrag", "storage", "--estimate")
    assert "entities 1, relations 2" in estimate.stdout
    assert "2 new or changed" in estimate.stdout
    first = lightwell(home, "import", "lightrag", "storage", "--acl", "team:us")
    assert first.returncode == 1, first.stdout  # one relation leads to an entity that is not there
    assert "2 new" in first.stdout
    assert "by hand: entities 1, relations 1" in first.stdout
    assert "Osprey – Nobody" in first.stdout
    again = lightwell(home, "import", "lightrag", "storage")
    assert "0 new, 0 changed, 2 unchanged" in again.stdout
    assert "by hand: entities 0, relations 0" in again.stdout
    assert "18 percent" in lightwell(home, "ask", DISCOUNT, "--as", "team:us").stdout
    assert "18 percent" not in lightwell(home, "ask", DISCOUNT, "--as", "team:board").stdout
    listed = lightwell(home, "documents", "list", "--as", "team:us", "--json").stdout
    dates = {each["updatedAt"] for each in json.loads(listed)["documents"]}
    assert [date[:10] for date in dates] == ["2025-03-04"]
    shown = lightwell(home, "graph", "show", "Tarn Valley", "--as", "team:us").stdout
    assert "It stands there." in shown
    hidden = lightwell(home, "graph", "show", "Tarn Valley", "--as", "team:board")
    assert hidden.returncode != 0
    wrong = lightwell(home, "import", "lightrag", ".", "--acl", "team:us")
    assert "working directory of a LightRAG" in wrong.stderr


@pytest.mark.slow
def test_a_working_directory_of_lightrag_itself_comes_in(home: Path, tmp_path: Path) -> None:
    install_lightrag(tmp_path / "packages", with_dependencies=True)
    made = tmp_path / "made"
    made.mkdir()
    subprocess.run(
        [sys.executable, str(ROOT / "tests" / "lightrag_working_dir.py"), str(made)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "packages")},
        cwd=tmp_path,
        check=True,
    )
    came = lightwell(*(home, "import", "lightrag", str(made), "--acl", "team:us"), project="real")
    assert came.returncode == 0, came.stdout + came.stderr
    assert "3 new" in came.stdout
    assert "by hand: entities 1, relations 1" in came.stdout
    asked = lightwell(home, "ask", DISCOUNT, "--as", "team:us", project="real")
    assert "18 percent" in asked.stdout
