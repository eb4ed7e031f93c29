"""Documents whose lines state their graph, and the extractor that parses these lines.

`Acme Corp (organization): sells pumps` is a mention, `Acme Corp -> Nordwind [USES]: since 2019` a statement; a
comparison and its use case come after `//`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import LiteralString

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.documents import NewDocument
from lightwell.domain.graph import Extraction, Mention, Predicate, RelationMention
from lightwell.ingest.summaries import Summarizer
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import ChatModel, ExtractionInput
from lightwell.records.database import Database
from lightwell.records.llm_cache.cached_model import CachedModel
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever
from tests.store_combinations import POSTGRES, Stores

from .conftest import Project, project_on

_MENTION = re.compile(r"^([^(\n]+) \(([a-z]+)((?:, \S+=[^,()\n]+)*)\)(?:: (.+))?$", re.MULTILINE)
_STATEMENT = re.compile(r"^(.+) -> (.+) \[([A-Z_]+)\](?:: (.+))?$", re.MULTILINE)


class Notes:
    """An extractor that parses notes."""

    async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        return [read(chunk.draft.text) for chunk in chunks]


def read(text: str) -> Extraction:
    mentions = [
        Mention(
            name=name,
            kind=kind,
            description=said,
            attributes=dict(each.split("=") for each in fields.split(", ")[1:]),
        )
        for name, kind, fields, said in _MENTION.findall(text)
    ]
    statements = [_statement(*found) for found in _STATEMENT.findall(text)]
    known = {mention.name for mention in mentions}
    ends = dict.fromkeys(end for each in statements for end in (each.subject, each.object))
    mentions += [Mention(name=end, kind="term") for end in ends if end not in known]
    return Extraction(mentions=tuple(mentions), relation_mentions=tuple(statements))


def _statement(one: str, other: str, predicate: str, said: str) -> RelationMention:
    description, comparison, use_case = (*said.split(" // "), "", "")[:3]
    return RelationMention(
        subject=one,
        object=other,
        predicate=Predicate(predicate),
        description=description,
        comparison=comparison,
        use_case=use_case,
    )


@dataclass(frozen=True, kw_only=True)
class Noted:
    """A project of notes; `shelf` is the content of its source."""

    project: Project
    shelf: dict[str, NewDocument]

    @property
    def kb(self) -> KnowledgeBase:
        return self.project.kb

    async def put(self, name: str, tags: Iterable[str], *lines: str) -> None:
        """Write or replace one document."""
        self.shelf[name] = make_document(f"{name}.txt", "\n".join(lines), tags, title=name)
        await self.ingest()

    async def remove(self, name: str) -> None:
        self.shelf.pop(name, None)
        await self.ingest()

    async def ingest(self) -> None:
        done = await self.kb.ingestion.ingest(InMemorySource(documents=tuple(self.shelf.values())))
        assert done.problems == ()


async def noted(
    database: Database,
    name: str = "project",
    model: ChatModel | None = None,
    stores: Stores = POSTGRES,
) -> Noted:
    plain = await project_on(database, name, stores)
    context = replace(plain.context, extractor=Notes())
    answers = AnswerGenerator(model=None)
    project_id = plain.kb.project_id
    summarizer = (
        Summarizer(model=CachedModel(database, project_id, model, slots=4), max_tokens=500)
        if model
        else None
    )
    kb = KnowledgeBase(context, make_retriever(context), answers, summarizer=summarizer)
    project = Project(kb=kb, context=context, database=database, embedder=plain.embedder)
    return Noted(project=project, shelf={})


_TABLES: dict[str, LiteralString] = {
    "entities": "SELECT * FROM entities WHERE project_id = %(project)s",
    "mentions": """
        SELECT mention.* FROM document_entity_mentions AS mention JOIN entities ON entities.entity_id = named_as
        WHERE project_id = %(project)s""",
    "relations": "SELECT * FROM relations WHERE project_id = %(project)s",
    "statements": """
        SELECT mention.* FROM relation_mentions AS mention JOIN relations ON relations.relation_id = stated_as
        WHERE project_id = %(project)s""",
    "entity profiles": """
        SELECT profiles.* FROM profiles JOIN entities ON entities.entity_id = subject_id
        WHERE project_id = %(project)s""",
    "relation profiles": """
        SELECT profiles.* FROM profiles JOIN relations ON relations.relation_id = subject_id
        WHERE project_id = %(project)s""",
    "entity edits": "SELECT edit.* FROM entity_edits AS edit",
    "relation edits": "SELECT edit.* FROM relation_edits AS edit",
    "stale": "SELECT * FROM stale_profiles",
    "all profiles": "SELECT count(*) FROM profiles",
}


async def dump(one: Noted) -> dict[str, list[str]]:
    """Return every row of the graph as JSON, without timestamps."""
    found: dict[str, list[str]] = {}
    for table, query in _TABLES.items():
        rows = await one.project.database.rows(
            f"SELECT (to_jsonb(row) - 'created_at' - 'updated_at' - 'stated_at')::text FROM ({query}) AS row ORDER BY 1",
            {"project": one.kb.project_id},
        )
        found[table] = [row[0] for row in rows]
    return found


async def outline(one: Noted) -> dict[str, list[str]]:
    """Return the dump with references, URLs and tags instead of ids, so that two projects can be compared."""
    names = await one.project.database.rows(
        """
        SELECT entity_id::text, entity_ref FROM entities WHERE project_id = %(project)s
        UNION ALL
        SELECT relation_id::text, source.entity_ref || '>' || target.entity_ref || '>' || predicate
        FROM relations JOIN entities AS source ON source.entity_id = source_id
        JOIN entities AS target ON target.entity_id = target_id WHERE relations.project_id = %(project)s
        UNION ALL
        SELECT chunk_id::text, source_url || '#' || chunk_index
        FROM document_chunks JOIN source_documents USING (document_id) WHERE project_id = %(project)s
        UNION ALL
        SELECT project_id::text, 'project' FROM projects
        """,
        {"project": one.kb.project_id},
    )
    classes = await one.project.database.rows("SELECT class_id, tags::text FROM access_classes", {})
    known = {old: new for old, new in names}
    tags = {class_id: words for class_id, words in classes}

    def plain(row: str) -> str:
        for old in re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", row):
            row = row.replace(old, known.get(old, "gone"))
        return re.sub(
            r'"class_id": (\d+)', lambda match: f'"class": {tags.get(int(match[1]))}', row
        )

    found = await dump(one)
    own = [table for table in found if table not in ("stale", "all profiles")]
    return {table: sorted(plain(row) for row in found[table]) for table in own}
