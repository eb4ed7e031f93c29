"""Every query that a reader's answer may come from names the reader's access classes, or says why it need not."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "lightwell"

PROTECTED = (
    "source_documents",
    "document_chunks",
    "chunk_terms",
    "chunk_analyses",
    "table_rows",
    "term_counts",
    "class_totals",
    "document_entity_mentions",
    "relation_mentions",
    "entity_names",
    "profiles",
    "described_profiles",
    "long_profiles",
    "merge_summaries",
    "split_passages",
    "entity_edits",
    "relation_edits",
    "entity_links",
    "entity_keys",
    "ingestion_jobs",
    "conversations",
    "conversation_turns",
    "answer_streams",
    "answer_stream_events",
    r"\w*_vectors\w*",
)
"""Tables with text, names or counts that depend on documents."""

READS = re.compile(r"\b(?:FROM|JOIN)\s+(?:" + "|".join(PROTECTED) + r")\b")
WRITES = re.compile(r"\b(?:INSERT INTO|UPDATE\s+[\w{}]+\s+(?:AS\s+\w+\s+)?SET|DELETE FROM)\b")
FILTER = "sees(%(classes)s, "

UNFILTERED = {
    "records/embedding_space_progress.py:_GAPS": "the server's monitoring and an operator see how far a change of the embedding model is; it reads no word",
    "records/embedding_space_progress.py:_PROGRESS": "an administrator sees how far a change of the embedding model is; it reads no word",
    "records/embedding_space_changes.py:_TEXT": "an administrator sees what a change of the embedding model takes; it counts, and reads no word",
    "records/documents/chunks.py:_PUBLISHED_BY_ID": "a worker embeds published chunks with another model",
    "records/documents/withdrawing.py:_STANDING": "whoever restores a backup takes back what was taken back since; it reads no word",
    "records/graph/copy_batches.py:_CHUNKS": "a worker copies chunks to the graph store, with their classes",
    "records/graph/copy_batches.py:_MENTIONS": "a worker copies mentions to the graph store, with their classes",
    "records/graph/copy_batches.py:_STATEMENTS": "a worker copies what chunks state to the graph store, with their classes",
    "records/graph/copy_batches.py:_DOCUMENTS": "a worker copies documents to the graph store, with their classes",
    "records/graph/copy_batches.py:_DOCUMENT_MENTIONS": "a worker copies what documents mention to the graph store, with their classes",
    "records/graph/copy_batches.py:_ENTITIES": "a worker copies profiles to the graph store, each with its class",
    "records/graph/copy_batches.py:_RELATIONS": "a worker copies profiles to the graph store, each with its class",
    "records/documents/documents.py:_ACCESS": "an administrator asks why somebody sees a document; it reads no word of it",
    "records/graph/same_names.py:_NAMES": "a change of documents finds the names whose bearers it has to settle",
    "records/graph/same_names.py:_values": "a change of documents settles who bears a name, each class by itself",
    "records/documents/chunks.py:_OF_DOCUMENTS": "ingestion reads its own job's chunks back",
    "records/documents/chunks.py:_TITLES": "ingestion titles the documents it publishes",
    "records/documents/chunks.py:_EMBEDDED": "ingestion asks which of its chunks have a vector",
    "records/documents/analyses.py:_OUTDATED": "a worker reads published chunks again whose rules have changed",
    "records/documents/table_rows.py:_OUTDATED": "a worker asks which documents' tables were read by older rules; it reads no word",
    "records/documents/table_rows.py:_TEXTS": "a worker reads the tables of a published document again whose rules have changed",
    "records/documents/table_rows.py:_PUBLISHED": "a worker asks whether a document still shows what it has read",
    "records/multi_vectors.py:_LACKING": "ingestion asks which of its chunks have no vectors",
    "records/multi_vectors.py:_ENCODED": "ingestion copies what was encoded for the same access class, which is in the hash",
    "records/multi_vectors.py:_WINDOWS": "ingestion makes the vectors of published chunks of those of their windows",
    "records/passage_gaps.py:_IS_TAKEN": "whoever ingests waits for passages that other workers read",
    "records/passage_gaps.py:_WAITING": "whoever ingests reports how many passages of its source are still to be read",
    "records/passage_gaps.py:_PROGRESS": "a worker reports how far the documents are whose passages it has read",
    "records/documents/chunks.py:_SAME_HASH": "ingestion reuses the vector of a text that all readers of the new document see",
    "records/llm_cache/cache.py:_FIND": "a reply about a chunk is found only where all readers of its document see another document with it",
    "records/documents/chunks.py:_PUBLISHED_VECTORS": "ingestion hands vectors to the index, with their classes",
    "records/documents/chunks.py:_PUBLISHED_IDS": "an operator's command copies all vectors of a project to another store; it reads no word",
    "stores/milvus/vectors.py:_PASSAGES": "ingestion writes vectors with their chunks, and these with their classes",
    "stores/milvus/vectors.py:_CHUNKS_OF": "ingestion writes again what Milvus has of a document's chunks",
    "stores/milvus/vectors.py:_PUBLISHED": "how many chunks Milvus must have loaded; decides only whether a search waits for it",
    "records/documents/chunks.py:_CHANGES": "the index follows chunks whose class changed",
    "stores/milvus/profiles.py:_DESCRIBED": "how many profiles Milvus must have loaded; decides only whether a search waits for it",
    "stores/milvus/profiles.py:_HELD": "a worker asks which of its claims hold",
    "stores/milvus/profiles.py:_UNCHANGED": "an operator's command asks which of the profiles that it copied have changed",
    "stores/postgres/profiles.py:_VECTORS": "an operator's command copies all vectors of a project to another store; it reads no word",
    "records/graph/profile_queue.py:_EMBEDDED": "an operator's command copies all vectors of a project to another store; it reads no word",
    "records/analytics.py:_DAYS": "an administrator sees how many documents were read on each day, and what that cost; it reads no word",
    "records/operations.py:_JOBS": "the server's monitoring counts jobs by state, over all projects",
    "records/answer_streams.py:_FIND": "a stream belongs to one key and its tags, which it compares; all its classes must be visible",
    "records/conversations.py:_OWN": "a conversation belongs to exactly these tags, which it compares",
    "records/conversations.py:cursor": "a conversation belongs to exactly these tags, which it compares",
    "records/graph/profile_queue.py:_ANY": "asks whether there is work, for a worker",
    "records/graph/profile_queue.py:_SAID": "a worker reads the profiles it embeds, one class each",
    "records/graph/profile_queue.py:_STILL_SILENT": "a worker asks which of them still say nothing",
    "records/graph/profile_queue.py:_OWN": "a worker locks the profiles that it has claimed",
    "records/documents/registered.py:_UP_TO_DATE": "a connector compares its source with what is stored",
    "records/documents/registered.py:_FIND": "a connector's change finds its document",
    "records/documents/items.py:_STORED": "a page of a source is compared with what is stored",
    "records/documents/items.py:_KNOWN": "a page of a source is compared with what is stored",
    "records/documents/items.py:_TAKEN": "a page of a source may not take another document's URL",
    "records/documents/items.py:_OF_SOURCE": "the removal of a source deletes its documents",
    "records/documents/items.py:_COUNT": "an administrator asks how much a source has; it reads no word of it",
    "records/item_fetches.py:_COUNT_MISSING": "a sweep counts what the source does not list",
    "records/pushes.py:_COUNT_UNSEEN": "the end of a push of everything counts what it did not name",
    "records/pushes.py:_LIST_UNSEEN": "the end of a push of everything removes what it did not name",
    "records/documents/item_merges.py:_NAMING": "a source's page publishes the documents anew that name a merged item",
    "records/documents/item_merges.py:_NAMING_FORMER": "a source's page publishes the documents anew whose readers change",
    "records/documents/item_merges.py:_OF_SURVIVORS": "a source's page finds what it merged into the items it stores",
    "records/documents/item_merges.py:_SEEN_BY": "publishing compares who sees a document with who sees what it names",
    "records/documents/structures.py:_STATED": "publishing reads what its documents' items state",
    "records/graph/edits.py:_HIDDEN": "a correction finds what is hidden in the person's own classes, which it names",
    "records/graph/edits.py:_HERE": "an edit compares with what its one class says",
    "records/jobs/queue.py:_OPEN_URLS": "of these, an ingestion reports the documents of its own source alone",
    "records/documents/erasure.py:_REQUESTED": "asks whether an erasure is left to be carried out",
    "records/documents/erasure.py:_TOMBSTONES": "an erasure locks the tombstones it removes",
    "records/jobs/backlog.py:_ENDED": "an operator's command counts what it has done; it reads no word",
    "records/jobs/backlog.py:_PAGE": "a backfill hands out the jobs that nobody works on; it reads no word",
    "records/jobs/queue.py:_OPEN": "a worker counts the work that is left",
    "records/jobs/queue.py:_OWN": "a worker locks its own jobs",
    "records/projects.py:_WAITING": "a worker asks which projects have work",
    "records/projects.py:_JOBS": "a project's deletion locks its jobs",
    "records/documents/chunks.py:_OMITTED": "ingestion tells what it left out of the documents it publishes",
    "records/graph/resolution.py:_MOVED_NAMES": "publishing finds which of its documents' mentions it has to move",
    "records/graph/resolution.py:_WITH_PARTS": "a correction finds the entities whose mentions it has to move",
    "records/llm_cache/cache.py:_HOLD_CHUNKS": "ingestion locks the chunks whose replies it keeps",
    "records/graph/link_proposals.py:_SUBJECTS": "proposing compares what single classes say; a proposal has the classes of its ends",
    "records/graph/link_proposals.py:_CANDIDATES": "proposing compares what single classes say; a proposal has the classes of its ends",
}
"""Reads by ingestion and upkeep, none of whose rows goes to a person: `module:CONSTANT` and the reason."""


def constants(module: ast.Module) -> dict[str, str]:
    """Return the module's own texts by name, so that a query made of parts is read whole."""
    found: dict[str, str] = {}
    for node in module.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name), *_], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                found[name] = joined(value, found)
            case _:
                pass
    return found


def joined(node: ast.AST, parts: Mapping[str, str]) -> str:
    """Return the text of a string, with the module's own constants put into an f-string."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(joined(value, parts) for value in values)
        case ast.FormattedValue(value=ast.Name(id=name)):
            return parts.get(name, "?")
        case _:
            return "?"


def texts(node: ast.AST, owner: str, parts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each string with the constant or function it stands in."""
    for child in ast.iter_child_nodes(node):
        own = owner
        if isinstance(child, ast.Assign) and isinstance(child.targets[0], ast.Name):
            own = child.targets[0].id
        elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            own = child.target.id
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            own = child.name
        if isinstance(child, ast.JoinedStr | ast.Constant):
            yield own, joined(child, parts)
        else:
            yield from texts(child, own, parts)


def reads() -> dict[str, str]:
    """Return the queries on protected tables that only read, and the parts that others are made of: by `module:CONSTANT`, "" for those that filter."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        module = ast.parse(path.read_text("utf-8"))
        for owner, text in texts(module, "module", constants(module)):
            sql = re.sub(r"--[^\n]*", "", text).strip()
            if (
                re.match(r"(SELECT|WITH|FROM|JOIN)\b", sql)
                and READS.search(sql)
                and not WRITES.search(sql)
            ):
                name = f"{path.relative_to(SOURCE)}:{owner}"
                found[name] = found.get(name, "") + ("" if FILTER in sql else sql)
    return found


def test_every_read_of_protected_tables_names_the_reader_s_classes() -> None:
    unfiltered = {name for name, sql in reads().items() if sql}
    assert unfiltered - set(UNFILTERED) == set(), (
        f"filter by `{FILTER}class_id)`, or add the query to UNFILTERED with the reason"
    )


def test_no_exception_outlives_its_query() -> None:
    assert set(UNFILTERED) - {name for name, sql in reads().items() if sql} == set()


def test_the_reads_are_found_at_all() -> None:
    assert len(reads()) > 80
