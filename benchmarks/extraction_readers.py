"""How a document is read: by Lightwell's own reader and by LightRAG's, through a model that is counted and kept on disk."""

import importlib
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, cast

from benchmarks.extraction_gold import Document, Said
from lightwell.domain.documents import Format
from lightwell.domain.graph import Extraction, MentionType
from lightwell.domain.ids import ChunkId, new_id
from lightwell.ingest.chunking import split_into_chunks
from lightwell.ingest.extract.extraction_prompt import (
    ExtractionSpec,
    OutputForm,
    gleaning_messages,
    reply_schema,
)
from lightwell.ingest.extract.llm_extractor import LLMExtractor, max_reply_tokens, merge_extractions
from lightwell.ingest.extract.reply_parser import parse_reply
from lightwell.ingest.extract.reply_rows import Problem, parse_rows
from lightwell.ingest.parse import parse
from lightwell.ports import ChatModel, ExtractionInput, Message, Reply, Usage
from lightwell.records import access_classes
from lightwell.records.database import Database
from lightwell.records.llm_cache import cache
from lightwell.records.llm_cache.cache import CacheType
from lightwell.records.llm_cache.cached_model import CachedModel, ModelRequest
from lightwell.text.tokens import token_count

MAX_TIMES = 4
"""How often a reply may say one line before it is cut: a small model that repeats itself does not end."""

THEIR_MOST_TOKENS = 1100
"""LightRAG sets no limit; this is about ours for these documents."""

_SPOILT = (Problem.MALFORMED, Problem.TRUNCATED, Problem.EMPTY, Problem.REFUSED)
_NOTHING = Usage(model="", input_tokens=0, output_tokens=0)


class Second(StrEnum):
    """When a second look is taken."""

    NEVER = "no second look"
    LIKELY = "a second look when likely to pay"
    ALWAYS = "a second look always"


@dataclass(slots=True, kw_only=True)
class Spent:
    """Calls, tokens, and replies of which rows were lost."""

    calls: int = 0
    sent: int = 0
    written: int = 0
    spoilt: int = 0


# ── the model behind: kept on disk, counted ──────────────────────────────────────────────────────────


class KeptModel:
    """A chat model whose replies are kept in a folder."""

    def __init__(self, inner: ChatModel, folder: Path) -> None:
        self._inner = inner
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def model(self) -> str:
        return self._inner.model

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        hashed = cache.content_hash(self.model, messages, schema)
        place = self._folder / f"{hashed}.json"
        if not place.exists():
            print(f"  asking ({sum(token_count(one.content) for one in messages)} tokens)")
            if schema is None:
                said = await self._streamed(messages, max_tokens)
            else:
                given = await self._inner.reply(messages, max_tokens=max_tokens, schema=schema)
                said = given.text, given.complete
            place.write_text(json.dumps(said), encoding="utf-8")
        text, complete = cast("tuple[str, bool]", json.loads(place.read_text(encoding="utf-8")))
        return Reply(text=text, complete=complete, usage=_NOTHING)

    async def _streamed(self, messages: Sequence[Message], max_tokens: int) -> tuple[str, bool]:
        """Return the reply, cut where it says one line for the fourth time: such a model would never end."""
        text = ""
        parts = self._inner.stream(messages, max_tokens=max_tokens)
        async with aclosing(cast("AsyncGenerator[str, None]", parts)):
            async for part in parts:
                text += part
                *lines, _ = text.split("\n")
                if lines and lines.count(lines[-1]) >= MAX_TIMES and lines[-1].strip():
                    return text, False
        return text, token_count(text) < max_tokens * 0.9

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        raise NotImplementedError


class CountedModel:
    """A chat model that counts what it is asked."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner
        self.spent = Spent()

    @property
    def model(self) -> str:
        return self._inner.model

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        given = await self._inner.reply(messages, max_tokens=max_tokens, schema=schema)
        self.spent.calls += 1
        self.spent.sent += sum(token_count(message.content) for message in messages)
        self.spent.written += token_count(given.text)
        return given

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> AsyncIterator[str]:
        raise NotImplementedError


# ── ours ─────────────────────────────────────────────────────────────────────────────────────────────


def chunk_of(document: Document) -> ExtractionInput:
    parsed = parse(document.text.encode(), Format.MARKDOWN, name=f"{document.title}.md")
    [draft] = split_into_chunks(parsed)
    return ExtractionInput(
        id=ChunkId(new_id()), document_title=document.title, draft=draft, is_first=True
    )


class OurReader:
    """Lightwell's own `ModelReader`; a look that it would not take is added by hand for `Second.ALWAYS`."""

    def __init__(self, database: Database, form: OutputForm, second: Second) -> None:
        self.name = f"Lightwell, {form}, {second}"
        self._database = database
        self._wanted = ExtractionSpec(form=form)
        self._second = second

    async def read(self, document: Document, model: CountedModel) -> Said:
        project = await access_classes.get_or_create_project(
            self._database, "benchmark", str(new_id())
        )
        asking = CachedModel(self._database, project, model, slots=1)
        passes = 0 if self._second is Second.NEVER else 1
        reader = LLMExtractor(asking, self._wanted, max_gleanings=passes)
        chunk, before = chunk_of(document), model.spent.calls
        [extraction] = await reader.extract([chunk])
        if self._second is Second.ALWAYS and model.spent.calls == before + 1:
            extraction = await self._looked_again(asking, reader, chunk, extraction)
        await self._count_spoilt(asking, model.spent)
        return _said(extraction)

    async def _looked_again(
        self,
        asking: CachedModel,
        reader: LLMExtractor,
        chunk: ExtractionInput,
        extraction: Extraction,
    ) -> Extraction:
        first = await asking.reply(reader.first_request(chunk))
        heard = parse_reply(first.text, chunk, complete=first.complete).extraction
        known = [mention.name for mention in heard.mentions]
        asked = ModelRequest(
            kind=CacheType.GLEANING,
            messages=gleaning_messages(chunk, known, self._wanted),
            max_tokens=max_reply_tokens(chunk),
            schema=reply_schema() if self._wanted.form is OutputForm.JSON else None,
        )
        again = await asking.reply(asked)
        return merge_extractions(
            extraction, parse_reply(again.text, chunk, complete=again.complete).extraction
        )

    async def _count_spoilt(self, asking: CachedModel, spent: Spent) -> None:
        kept = await self._database.rows(
            "SELECT result, is_complete FROM extraction_cache WHERE project_id = %(project_id)s",
            {"project_id": asking.project_id},
        )
        for text, complete in kept:
            problems = parse_rows(text, complete=complete).problems
            spent.spoilt += any(problems[problem] for problem in _SPOILT)


def _said(extraction: Extraction) -> Said:
    return Said(
        names=tuple(
            one.name for one in extraction.mentions if one.type is not MentionType.METADATA
        ),
        pairs=tuple((one.subject, one.object) for one in extraction.relation_mentions),
    )


# ── LightRAG's ───────────────────────────────────────────────────────────────────────────────────────


class _Operate(Protocol):
    def extract_entities(
        self, chunks: Mapping[str, object], global_config: Mapping[str, object]
    ) -> Awaitable[list[tuple[dict[str, object], dict[tuple[str, str], object]]]]: ...


class _Warnings(logging.Handler):
    """Notes whether LightRAG complained of a reply; that its end mark is missing alone loses nothing."""

    complained = False

    def emit(self, record: logging.LogRecord) -> None:
        self.complained |= "Complete delimiter" not in record.getMessage()


class TheirReader:
    """LightRAG's own reading of a chunk, with its defaults but for the number of second looks."""

    def __init__(self, operate: _Operate, form: OutputForm, second: Second) -> None:
        self.name = f"LightRAG, {'text' if form is OutputForm.LINES else 'JSON'}, {second}"
        self._operate = operate
        self._form = form
        self._second = second

    async def read(self, document: Document, model: CountedModel) -> Said:
        config: Mapping[str, object] = {
            "role_llm_funcs": {"extract": _asked(model)},
            "entity_extract_max_gleaning": int(self._second is Second.ALWAYS),
            "entity_extract_max_records": 100,
            "entity_extract_max_entities": 40,
            "entity_extraction_use_json": self._form is OutputForm.JSON,
        }
        chunk = {"content": document.text, "full_doc_id": document.title, "chunk_order_index": 0}
        warnings = _Warnings(logging.WARNING)
        logger = logging.getLogger("lightrag")
        logger.addHandler(warnings)
        try:
            [(nodes, edges)] = await self._operate.extract_entities({"chunk-1": chunk}, config)
        finally:
            logger.removeHandler(warnings)
        model.spent.spoilt += warnings.complained
        ends = [name for pair in edges for name in pair]  # it makes entities of them too
        return Said(names=tuple(dict.fromkeys([*nodes, *ends])), pairs=tuple(edges))


def _asked(model: CountedModel) -> Callable[..., Awaitable[str]]:
    async def asked(
        prompt: str,
        system_prompt: str = "",
        history_messages: Sequence[Mapping[str, str]] = (),
        response_format: object = None,
    ) -> str:
        history = [Message(role=one["role"], content=one["content"]) for one in history_messages]
        system = Message(role="system", content=system_prompt)
        given = await model.reply(
            [system, *history, Message(role="user", content=prompt)],
            max_tokens=THEIR_MOST_TOKENS,
            schema={"type": "object"} if response_format else None,
        )
        return given.text

    return asked


def their_readers() -> list[TheirReader]:
    try:
        operate = cast("_Operate", importlib.import_module("lightrag.operate"))
    except ImportError as missing:
        print(f"LightRAG is not here ({missing}); its half is left out.\n")
        return []
    logger = logging.getLogger("lightrag")
    logger.propagate, logger.handlers = False, []
    return [
        TheirReader(operate, form, second)
        for form in OutputForm
        for second in (Second.NEVER, Second.ALWAYS)
    ]


class Reader(Protocol):
    name: str

    async def read(self, document: Document, model: CountedModel) -> Said: ...


def our_readers(database: Database) -> list[OurReader]:
    return [OurReader(database, form, second) for form in OutputForm for second in Second]
