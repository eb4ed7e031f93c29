"""Rows of the specification's S2, each by its number.

S2.12, over three systems, is in `test_three_systems.py`; S2.15, in chats, in `tests/channels/test_afternoon.py`.
"""

from collections.abc import Collection
from pathlib import Path

import pytest

from lightwell.connectors.files import Files
from lightwell.domain.answers import INSUFFICIENT
from lightwell.domain.briefs import Brief
from lightwell.domain.errors import NotFound
from lightwell.domain.graph import ManualEdit
from lightwell.domain.graph_views import Candidates
from lightwell.domain.ids import GlobalRef
from lightwell.ingest.sync import DocumentChange
from lightwell.knowledge_base.ingestion import IngestionResult
from lightwell.records.database import Database
from lightwell.records.documents.item_merges import follow_chains
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project, project_on
from .observed import entities_seen

SALES, SUPPORT = ["team:sales"], ["team:support"]
NORDWIND = (
    make_document(
        "a.md", "Nordwind Energie is a utility in Lübeck. Nordwind Energie pays late.", SALES
    ),
    make_document(
        "b.md", "Nordwind Logistik drives lorries. Nordwind Logistik has a depot.", SALES
    ),
    make_document("c.md", "The depot of Castell Water was built in 1931.", SALES),
)


async def filled(project: Project, *more: str) -> Project:
    extra = (make_document(f"more{n}.md", text, SALES) for n, text in enumerate(more))
    await project.kb.ingestion.ingest(InMemorySource(documents=(*NORDWIND, *extra)))
    return project


def picked(found: tuple[Candidates, ...]) -> dict[str, set[str]]:
    return {each.name: {one.entity.name for one in each.candidates} for each in found}


BOTH = {"Nordwind": {"Nordwind Energie", "Nordwind Logistik"}}


async def test_s2_4_a_citation_has_all_fields_and_without_one_there_is_no_answer(
    project: Project,
) -> None:
    kb = (await filled(project)).kb
    asked, reader = "When was the depot of Castell Water built?", await kb.reader(SALES)
    answer = await kb.questions.ask(asked, reader)
    (cited,) = answer.citations
    assert (cited.source_url, cited.source_system, cited.source_type) == (
        "file:///shelf/c.md",
        "file",
        "document",
    )
    document = await kb.documents.get(reader, cited.document_ref)
    assert (cited.document_ref, cited.chunk_ref) == (document.ref, f"{document.ref}#0")
    assert cited.created_at == document.created_at
    assert cited.snippet == "The depot of Castell Water was built in 1931."
    assert 0.6 <= cited.score <= 1
    refused = await kb.questions.ask(asked, await kb.reader(SUPPORT))
    assert (refused.text, refused.citations) == (INSUFFICIENT, ())


async def test_s2_14_every_way_to_ask_gives_the_candidates_for_an_ambiguous_name(
    project: Project,
) -> None:
    kb = (await filled(project)).kb
    reader = await kb.reader(SALES)
    asked = "What does Nordwind do?"
    assert picked((await kb.questions.search(asked, reader)).ambiguous_names) == BOTH
    assert picked((await kb.questions.ask(asked, reader)).ambiguous_names) == BOTH
    assert picked((await kb.questions.statements(asked, reader)).ambiguous_names) == BOTH
    assert picked((await kb.questions.chat(asked, reader)).ambiguous_names) == BOTH
    (*_, last) = [event async for event in kb.questions.stream(asked, reader)]
    assert last.answer is not None
    assert picked(last.answer.ambiguous_names) == BOTH
    (several,) = (await kb.questions.ask(asked, reader)).ambiguous_names
    assert all(each.distinguishing for each in several.candidates)
    brief = await kb.questions.brief(several.candidates[0].entity.ref, reader)
    assert isinstance(brief, Brief)


async def test_s2_14_people_of_one_name_are_candidates_until_the_question_says_which(
    project: Project,
) -> None:
    kb = (
        await filled(
            project,
            "Jonas Weber (jonas.weber@halden.example) writes firmware.",
            "We met Jonas Weber, jweber@nordwind.example, who buys pumps.",
        )
    ).kb
    reader = await kb.reader(SALES)
    (several,) = (await kb.questions.ask("What does Jonas Weber do?", reader)).ambiguous_names
    assert {each.distinguishing["email"] for each in several.candidates} == {
        "jonas.weber@halden.example",
        "jweber@nordwind.example",
    }
    exact = await kb.questions.ask("What does Jonas Weber (jweber@nordwind.example) do?", reader)
    assert exact.ambiguous_names == ()


async def test_s2_14_a_full_name_or_a_unique_one_needs_no_choice(project: Project) -> None:
    kb = (await filled(project)).kb
    reader = await kb.reader(SALES)
    for asked in (
        "What does Nordwind Energie do?",
        "Where does Castell Water have a depot?",
        "Which Lorries are there?",
        "who pays late?",
    ):
        assert (await kb.questions.ask(asked, reader)).ambiguous_names == (), asked


@pytest.mark.parametrize(
    ("asked", "names", "texts"),
    [
        (
            "Who administers GitHub?",
            ("GitHub", "GitHub Actions", "GitHub Pages", "GitHub Copilot"),
            (
                "We moved to GitHub in May.",
                "The admin of GitHub is Ada.",
                "We call GitHub Actions there. A job of GitHub Actions is slow.",
                "We like GitHub Pages. A site of GitHub Pages is free.",
                "We tried GitHub Copilot. The bill of GitHub Copilot is high.",
            ),
        ),
        (
            "Who may approve the PR?",
            ("Example PR", "Revert PR"),
            (
                "Open a PR for it, and a colleague reviews the PR.",
                "A PR needs two approvals.",
                "The PR is merged by its author.",
                "We read Example PR today. The text of Example PR is short.",
                "We like Revert PR. The button of Revert PR is red.",
            ),
        ),
    ],
)
async def test_s2_14_what_is_mostly_said_by_itself_needs_no_choice(
    project: Project, asked: str, names: tuple[str, ...], texts: tuple[str, ...]
) -> None:
    kb = (await filled(project, *texts)).kb
    reader = await kb.reader(SALES)
    assert {*names} <= {each.name for each in await entities_seen(kb.graph, reader)}
    assert (await kb.questions.ask(asked, reader)).ambiguous_names == ()


async def test_s2_14_a_name_with_many_longer_ones_needs_no_clear_margin(
    project: Project,
) -> None:
    texts = (
        *(f"We called GitHub about lorry {n}." for n in range(3)),
        *(
            f"We like GitHub {part} for lorry {n}. The bill of GitHub {part} is high."
            for part in ("Actions", "Pages", "Copilot", "Mobile", "Desktop")
            for n in range(2)
        ),
    )
    kb = (await filled(project, *texts)).kb
    reader = await kb.reader(SALES)
    assert (await kb.questions.ask("What is GitHub?", reader)).ambiguous_names == ()


@pytest.mark.parametrize(
    ("alone", "candidates"),
    [
        ("We called Anna about lorry", {"Anna Weber", "Anna Schulz", "Anna"}),
        ("Anna drove lorry", {"Anna Weber", "Anna Schulz"}),  # `annas` are in the dictionary, too
    ],
)
async def test_s2_14_a_first_name_that_is_said_as_often_as_each_full_name_needs_a_choice(
    project: Project, alone: str, candidates: set[str]
) -> None:
    texts = (
        *(f"{alone} {n}." for n in range(3)),
        *(f"We met Anna Weber for lorry {n}. The desk of Anna Weber is new." for n in range(3)),
        *(f"We met Anna Schulz for lorry {n}. The desk of Anna Schulz is old." for n in range(3)),
    )
    kb = (await filled(project, *texts)).kb
    asked = await kb.questions.ask("What did Anna say?", await kb.reader(SALES))
    assert picked(asked.ambiguous_names) == {"Anna": candidates}


async def test_s2_14_candidates_that_the_reader_may_not_see_make_no_name_ambiguous(
    database: Database, other_database: Database
) -> None:
    seen: list[object] = []
    for place, hidden in ((database, True), (other_database, False)):
        project = await project_on(place)
        secret = (
            (make_document("b.md", "Nordwind Logistik drives lorries.", SUPPORT),) if hidden else ()
        )
        await project.kb.ingestion.ingest(InMemorySource(documents=(NORDWIND[0], *secret)))
        reader = await project.kb.reader(SALES)
        seen.append(
            (await project.kb.questions.ask("What does Nordwind do?", reader)).ambiguous_names
        )
    assert seen == [(), ()]


# ── S2.2: the logical tables ──────────────────────────────────────────────────────────────────────────

# An access class stands for its tags, a document's id for its reference, and a profile for what a class knows of an entity.
# An entity that nothing mentions any more has no row, so it has no `is_deleted`. A document's text is read from its chunks, and an
# entity's primary URL from its attributes or its first source.
FIELDS = {
    "source_documents": "global_ref source_system source_type source_id source_url tenant_id created_at updated_at"
    " author_ref raw_payload language content_hash is_deleted acl_tags class_id",
    "document_chunks": "chunk_ref document_id chunk_index chunk_text chunk_hash token_count start_offset end_offset"
    " created_at class_id",
    "entities": "entity_ref normalized_name created_at updated_at",
    "profiles": "entity_kind display_name attributes class_id",
    "entity_links": "link_id from_ref to_ref link_type directional confidence evidence created_by created_at status"
    " expires_at class_id",
    "document_entity_mentions": "chunk_id entity_id mention_type confidence created_at class_id",
    "ingestion_cursors": "source_system cursor_key cursor_value updated_at",
    "source_cursors": "source_id stream cursor updated_at",
    "ingestion_runs": "run_id source_system started_at finished_at status inserted updated deleted error_summary",
}
INDEXES = {
    "source_documents": ("(source_system, source_type, updated_at)", "(content_hash)", "(tenant_id, updated_at)"),
    "document_chunks": ("(document_id, chunk_index", "(chunk_hash)"),
    "profiles": ("(entity_kind, lower(display_name))",),
    "entities": ("(project_id, normalized_name)", "(normalized_name gin_trgm_ops)"),
    "entity_links": ("(from_ref, link_type, status)", "(to_ref, link_type, status)"),
    "document_entity_mentions": ("(entity_id, created_at)", "(chunk_id, entity_id)"),
}  # fmt: skip


async def test_s2_2_the_tables_have_all_fields_and_indexes(project: Project) -> None:
    columns = await project.database.rows(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()", {}
    )  # fmt: skip
    wanted = {(table, name) for table, names in FIELDS.items() for name in names.split()}
    assert wanted - {(row[0], row[1]) for row in columns} == set()
    held = await project.database.rows(
        "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = current_schema()", {}
    )
    missing = {
        (table, key)
        for table, keys in INDEXES.items()
        for key in keys
        if not any(row[0] == table and key in row[1] for row in held)
    }
    assert missing == set()


# ── S2.10: a renamed file is the same document ────────────────────────────────────────────────────────


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def follow(
    project: Project, root: Path, tags: Collection[str] = ("team:a",)
) -> IngestionResult:
    done = await project.kb.ingestion.ingest(Files(root=root, default_tags=frozenset(tags)))
    assert done.problems == ()
    return done


CONTRACT = (
    "---\ntitle: Contract\n---\n# Terms\n\nNordwind Energie receives a discount of 18 percent."
)


async def test_s2_10_a_renamed_file_keeps_its_id_citations_links_and_edits(
    project: Project, tmp_path: Path
) -> None:
    root, kb = tmp_path / "papers", project.kb
    old = write(root / "old.md", CONTRACT)
    await follow(project, root)
    reader = await kb.reader(["team:a"])
    was = await kb.documents.get(reader, old.as_uri())
    asked = "What discount does Nordwind Energie receive?"
    turn = await kb.questions.chat(asked, reader)
    await kb.graph.edit(reader, "Nordwind Energie", ManualEdit(description="A utility."))
    calls = len(project.embedder.texts)

    new = root / "archive" / "2026.md"
    new.parent.mkdir()
    old.rename(new)
    done = await follow(project, root)
    assert (done.found.renamed, done.found.new, done.found.removed) == (1, 0, 0)
    assert done.found.documents == {new.as_uri(): DocumentChange.RENAMED}
    assert (done.found.jobs, len(project.embedder.texts)) == ([], calls)

    now = await kb.documents.get(reader, new.as_uri())
    assert (now.id, now.ref, now.acl_tags, now.title) == (was.id, was.ref, was.acl_tags, was.title)
    with pytest.raises(NotFound):
        await kb.documents.get(reader, old.as_uri())
    assert (await kb.conversations.messages(reader, turn.conversation_id))[-1].content
    (cited, *_) = (await kb.questions.ask(asked, reader)).citations
    assert (cited.source_url, cited.chunk_id) == (new.as_uri(), turn.citations[0].chunk_id)
    entity = (await kb.graph.entity(reader, "Nordwind Energie")).entity
    assert (entity.description, entity.paths) == ("A utility.", (new.as_uri(),))
    assert (await follow(project, root)).found.unchanged == 1


async def test_s2_10_a_title_that_is_the_name_of_the_file_follows_it(
    project: Project, tmp_path: Path
) -> None:
    old = write(tmp_path / "papers" / "draft.txt", "Nordwind Energie pays late.")
    await follow(project, old.parent)
    reader = await project.kb.reader(["team:a"])
    was = await project.kb.documents.get(reader, old.as_uri())
    new = old.rename(old.with_name("final.txt"))
    done = await follow(project, old.parent)
    assert (done.found.renamed, done.found.changed, done.found.removed) == (1, 0, 0)
    now = await project.kb.documents.get(reader, new.as_uri())
    assert (was.title, now.title, now.id) == ("draft", "final", was.id)


async def test_s2_10_two_existing_files_of_one_content_are_two_documents(
    project: Project, tmp_path: Path
) -> None:
    root = tmp_path / "papers"
    first = write(root / "a.md", CONTRACT)
    await follow(project, root)
    write(root / "b.md", CONTRACT)
    assert (await follow(project, root)).found.new == 1
    reader = await project.kb.reader(["team:a"])
    held = {each.url: each.id async for each in project.kb.documents.iterate(reader)}
    assert len(held) == len(set(held.values())) == 2
    first.rename(root / "c.md")
    assert (await follow(project, root)).found.renamed == 1
    after = {each.url: each.id async for each in project.kb.documents.iterate(reader)}
    assert after == {
        (root / "b.md").as_uri(): held[(root / "b.md").as_uri()],
        (root / "c.md").as_uri(): held[first.as_uri()],
    }


def test_s2_10_items_that_are_merged_one_after_the_other_have_one_survivor() -> None:
    a, b, c, d = (GlobalRef(f"attio:company:{each}") for each in "abcd")
    assert follow_chains({a: b, b: c}) == {a: c, b: c}
    assert follow_chains({a: b, b: a, d: d}) == {}


@pytest.mark.parametrize("how", ["content", "format", "other source", "deleted before"])
async def test_s2_10_what_else_changes_makes_it_another_document(
    project: Project, tmp_path: Path, how: str
) -> None:
    root = tmp_path / "papers"
    old = write(root / "old.md", CONTRACT)
    new, source = root / "new.md", root
    if how == "deleted before":
        write(new, "Another one.")
        await follow(project, root)
        new.unlink()
    await follow(project, root)
    reader = await project.kb.reader(["team:a"])
    was = await project.kb.documents.get(reader, old.as_uri())
    if how == "format":
        new = new.with_suffix(".txt")
    if how == "other source":
        source = tmp_path / "other"
        source.mkdir()
        new = source / "new.md"
    old.rename(new)
    if how == "content":
        write(new, CONTRACT + " It is signed.")
    done = await follow(project, source)
    assert (done.found.renamed, done.found.removed) == (0, 0 if how == "other source" else 1)
    assert (await project.kb.documents.get(reader, new.as_uri())).id != was.id


async def test_s2_10_a_file_with_other_tags_takes_over_no_document(
    project: Project, tmp_path: Path
) -> None:
    """Equal content under a new path must not tell, by its id or age, that others had the same document."""
    root = tmp_path / "papers"
    old = write(root / "secret" / "plan.txt", CONTRACT)
    write(root / "secret" / ".lightwell.yaml", "acl_tags: [team:board]\n")
    write(root / "public" / ".lightwell.yaml", "acl_tags: [team:a]\n")
    await follow(project, root)
    board = await project.kb.reader(["team:board"])
    was = await project.kb.documents.get(board, old.as_uri())
    new = old.rename(root / "public" / "plan.txt")
    done = await follow(project, root)
    assert (done.found.renamed, done.found.new, done.found.removed) == (0, 1, 1)
    team = await project.kb.reader(["team:a"])
    now = await project.kb.documents.get(team, new.as_uri())
    assert now.id != was.id
    assert now.created_at > was.created_at
    for name in (str(was.id), old.as_uri()):
        with pytest.raises(NotFound):
            await project.kb.documents.get(team, name)
