"""`lightwell export`, as a shell runs it."""

import csv
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import openpyxl
import pytest

from lightwell.stores.embedded.server import run_server
from tests.entrypoints.program import run


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder with a store in `data/` that holds one open document and one for sales."""
    folder = Path(tempfile.mkdtemp(prefix="lightwell-export-"))
    folder.chmod(0o755)
    (folder / "papers").mkdir()
    (folder / "papers" / "open.md").write_text("# Visits\n\nAcme Corp met Jane Smith in March.\n")
    (folder / "papers" / "deal.md").write_text(
        "---\nacl_tags: [team:sales]\n---\n# Deal\n\nNordwind owes money to Acme Corp.\n"
    )
    with run_server(folder / "data"):
        ended = run(folder, "ingest", "papers", "--acl", "team:us")
        assert ended.returncode == 0, ended.stderr
        yield folder
    rmtree(folder, ignore_errors=True)


def test_a_person_gets_files_and_is_told_which(home: Path) -> None:
    ended = run(home, "export", "graph.csv", "--as", "team:us", "--chunks")
    assert ended.returncode == 0, ended.stderr
    said, *files = ended.stdout.splitlines()
    assert said.endswith("1 passage")
    assert files == ["graph.csv", "graph-relations.csv", "graph-chunks.csv"]
    assert "chunks: 1/1" in ended.stderr
    with (home / "graph.csv").open(encoding="utf-8-sig", newline="") as file:
        names = {row["name"] for row in csv.DictReader(file)}
    assert "Acme Corp" in names
    assert "Nordwind" not in names


def test_a_program_gets_the_counts_as_json(home: Path) -> None:
    ended = run(
        home, "export", "out.xlsx", "--as", "team:us,team:sales", "--chunks", "--vectors", "--json"
    )
    assert ended.returncode == 0, ended.stderr
    done = json.loads(ended.stdout)
    assert done["files"] == [str(home.resolve() / "out.xlsx")]
    assert (done["chunks"], done["vectors"], done["cut"]) == (2, 2, 0)
    book = openpyxl.load_workbook(home / "out.xlsx", read_only=True)
    counts = {name: book[name].max_row - 1 for name in book.sheetnames}
    book.close()
    assert counts == {name: done[name] for name in ("entities", "relations", "chunks", "vectors")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.pdf"], "'pdf' is not an export format; the formats are csv, xlsx, md, txt"),
        (["x"], "Name the format with --format, or let PATH end in .csv, .xlsx, .md, .txt"),
        (
            ["papers/open.md"],
            "'papers/open.md' exists already; name another file, or replace it with --force",
        ),
        (["x.csv", "--batch-size", "0"], "The batch size must be 1 to 10000, not 0"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_opened(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "open.md").write_text("mine")
    ended = run(tmp_path, "export", *arguments, "--as", "team:us")
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not (tmp_path / "data").exists()


def test_who_asks_has_no_default_where_a_store_has_no_owner(home: Path) -> None:
    ended = run(home, "export", "x.csv")
    assert ended.returncode == 2
    assert "Name who asks" in ended.stderr


def test_force_replaces_what_is_there(home: Path) -> None:
    (home / "old.txt").write_text("old")
    ended = run(home, "export", "old.txt", "--as", "team:us", "--force")
    assert ended.returncode == 0, ended.stderr
    assert (home / "old.txt").read_text().startswith("ENTITIES\n========\n")
