"""The checks of `lightwell doctor`: the database, each model, the vector store and the graph store."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from uuid import UUID

from lightwell.domain.errors import Invalid, LightwellError
from lightwell.domain.operations import Check
from lightwell.models.endpoint import without_secrets
from lightwell.models.meter import Meter
from lightwell.ports import Message
from lightwell.records.database import list_pending_migrations
from lightwell.records.embedding_space_progress import SpaceGaps
from lightwell.records.embedding_spaces import SpaceModel, SpaceStatus
from lightwell.records.health import examine_database, list_spaces
from lightwell.settings import Settings
from lightwell.wiring.database import database_server, examine_data, has_store
from lightwell.wiring.embedders import open_embedder, open_models
from lightwell.wiring.graph_stores import open_graph_store
from lightwell.wiring.models import (
    chat_model,
    open_chat_connection,
    open_file_parser,
    open_reranker,
)
from lightwell.wiring.stores import open_milvus


async def examine(settings: Settings) -> list[Check]:
    """Check the settings, the database and the models, and return each problem with its fix; change no data.

    The checks start the embedded server and call each model once.
    """
    checks: list[Check] = []
    async with AsyncExitStack() as stack:
        try:
            checks += await _database_checks(settings, stack)
        except LightwellError as error:
            checks.append(_failed_check("database", error))
        for name, look in _LOOKS.items():
            try:
                detail = await look(settings, stack)
                checks.append(Check(name=name, ok=True, detail=detail, fix=""))
            except LightwellError as error:
                checks.append(_failed_check(name, error))
        try:
            checks += await _space_checks(settings, stack)
        except LightwellError as error:
            checks.append(_failed_check("embedding spaces", error))
    return checks


async def _space_checks(settings: Settings, stack: AsyncExitStack) -> list[Check]:
    """Check each project's vectors: whether these settings name their model, and how far a change to another one is."""
    if not has_store(settings):
        return []
    conninfo = await stack.enter_async_context(database_server(settings))
    if await list_pending_migrations(conninfo):
        return []  # they may give projects another space
    spaces = [space for space in await list_spaces(conninfo) if space.tenant == settings.tenant]
    if not spaces:
        return []
    models = await open_models(
        settings, stack, Meter(), await open_embedder(settings, stack, Meter())
    )
    return [_space_check(space, models) for space in spaces]


def _space_check(gaps: SpaceGaps, models: Sequence[SpaceModel]) -> Check:
    name = f"{gaps.model} ({gaps.dimension})"
    is_known = name in [model.name for model in models]
    done = max(0, gaps.chunks - gaps.missing_chunks)
    detail = f"{name}, {done:,} of {gaps.chunks:,} passages"
    if gaps.missing_chunks and gaps.status is SpaceStatus.ACTIVE and is_known:
        detail += "; a server, a worker or the next `lightwell ingest` reads the others"
    if gaps.missing_profiles:
        detail += f", {gaps.missing_profiles:,} descriptions to do"
    if gaps.status is SpaceStatus.BUILDING:
        detail += f", for {gaps.seconds / 60:,.0f} minutes"
    fix = f"Name {gaps.model} in LIGHTWELL_EMBEDDING_URL, _MODEL and _DIMENSION, or in LIGHTWELL_NEXT_EMBEDDING_URL, _MODEL and _DIMENSION"
    if gaps.status is SpaceStatus.BUILDING:
        fix += ", or end the change with `lightwell embeddings cancel`"
    what = "change of vectors" if gaps.status is SpaceStatus.BUILDING else "vectors"
    return Check(
        name=f"{what} of {gaps.project}", ok=is_known, detail=detail, fix="" if is_known else fix
    )


async def _database_checks(settings: Settings, stack: AsyncExitStack) -> list[Check]:
    """Check the database; where no store exists, say so and create none."""
    if not has_store(settings):
        place = settings.data.expanduser().resolve()
        detail = f"no store in {place} yet; `lightwell ingest PATH --acl TAG` creates it"
        return [Check(name="database", ok=True, detail=detail, fix="")]
    conninfo = await stack.enter_async_context(database_server(settings))
    return [*await examine_database(conninfo), *examine_data(settings)]


def _failed_check(name: str, error: LightwellError) -> Check:
    return Check(name=name, ok=False, detail="not usable", fix=str(error))


async def _check_embedder(settings: Settings, stack: AsyncExitStack) -> str:
    embedder = await open_embedder(settings, stack, Meter())
    await embedder.embed_query("light")
    return f"{embedder.model}, {embedder.dimension} dimensions"


async def _check_chat(settings: Settings, stack: AsyncExitStack) -> str:
    model = chat_model(await open_chat_connection(settings, stack), Meter())
    if model is None:
        return "none; answers are quotes from documents (`lightwell setup` finds a model that writes them)"
    await model.reply([Message(role="user", content="Say yes.")], max_tokens=5)
    return model.model


async def _check_reranker(settings: Settings, stack: AsyncExitStack) -> str:
    """Rerank an answer and an irrelevant sentence, because some servers return meaningless scores without an error."""
    reranker = await open_reranker(settings, stack, Meter())
    if reranker is None:
        return f"{settings.questions.rerank}; no endpoint"
    question, answer = "What is the capital of France?", "Paris is the capital of France."
    ranked = await reranker.rerank(question, ["Soup is served at noon.", answer])
    if ranked[0].index != 1:
        raise Invalid(
            "The reranker ranked an irrelevant sentence above the answer: its scores are not usable."
            " vLLM needs the score template of a Qwen3-Reranker (--chat-template)"
        )
    return settings.questions.rerank


async def _check_vector_store(settings: Settings, stack: AsyncExitStack) -> str:
    server = await open_milvus(settings, stack)
    return "the tables of PostgreSQL" if server is None else await server.describe()


async def _check_graph_store(settings: Settings, stack: AsyncExitStack) -> str:
    store = await open_graph_store(settings, stack)
    if store is None:
        return "the tables of PostgreSQL"
    await store.has(UUID(int=0))
    return f"{store.name} answers"


async def _check_file_parser(settings: Settings, stack: AsyncExitStack) -> str:
    """Let the parser read a line, since an address may answer and read nothing."""
    parser = await open_file_parser(settings, stack)
    if parser is None:
        return "none; only formats that Lightwell reads are read"
    reply = await parser.convert(b"<!doctype html><p>Light is needed in the well.", "check.html")
    if b"Light is needed" not in reply:
        raise Invalid("LIGHTWELL_PARSER_URL replied without the text of the file that it was sent")
    return without_secrets(settings.parser.url or "")


_LOOKS: Mapping[str, Callable[[Settings, AsyncExitStack], Awaitable[str]]] = {
    "embedding model": _check_embedder,
    "chat model": _check_chat,
    "reranker": _check_reranker,
    "vector store": _check_vector_store,
    "graph store": _check_graph_store,
    "file parser": _check_file_parser,
}
