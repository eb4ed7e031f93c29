"""Which models embed: the one that the settings name, the one they name next, and the bundled ones."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from pydantic import SecretStr

from lightwell.domain.errors import Invalid
from lightwell.models.meter import Meter
from lightwell.ports import Embedder
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.settings import Settings
from lightwell.wiring.models import named_endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """An embedding model at an endpoint, as settings with one prefix name it."""

    prefix: str
    url: str
    model: str
    key: SecretStr
    dimension: int
    is_matryoshka: bool
    instruction: str


async def open_embedder(settings: Settings, stack: AsyncExitStack, meter: Meter) -> Embedder:
    """Return the model for new projects: the one at the settings' endpoint, or the bundled one."""
    if settings.embedding_url is None:
        from lightwell.models.local import MiniLM

        return MiniLM()
    named = _Named(
        prefix="LIGHTWELL_EMBEDDING",
        url=settings.embedding_url,
        model=settings.embedding_model,
        key=settings.embedding_api_key,
        dimension=settings.embedding_dimension,
        is_matryoshka=settings.embedding_matryoshka,
        instruction=settings.embedding_instruction,
    )
    return await _open_named(named, settings, stack, meter)


async def open_models(
    settings: Settings, stack: AsyncExitStack, meter: Meter, first: Embedder
) -> tuple[SpaceModel, ...]:
    """Return the models that this process can call: `first`, which new projects use, the next one, and the bundled ones."""
    bundled = settings.embedding_url is None
    models = [
        SpaceModel(
            embedder=first,
            sentences=_with_cache(first) if bundled else first,
            price=0.0 if bundled else settings.embedding_price,
            is_bundled=bundled,
        )
    ]
    if settings.next_embedding_url is not None:
        following = await _open_next(settings, settings.next_embedding_url, stack, meter)
        models.append(
            SpaceModel(embedder=following, sentences=following, price=settings.next_embedding_price)
        )
    return (*models, *(each for each in _bundled() if each.embedder.model != first.model))


async def _open_next(settings: Settings, url: str, stack: AsyncExitStack, meter: Meter) -> Embedder:
    if not settings.next_embedding_dimension:
        raise Invalid(
            "LIGHTWELL_NEXT_EMBEDDING_URL is set, but LIGHTWELL_NEXT_EMBEDDING_DIMENSION is not: give the dimension of the"
            " model's vectors"
        )
    named = _Named(
        prefix="LIGHTWELL_NEXT_EMBEDDING",
        url=url,
        model=settings.next_embedding_model,
        key=settings.next_embedding_api_key,
        dimension=settings.next_embedding_dimension,
        is_matryoshka=settings.next_embedding_matryoshka,
        instruction=settings.next_embedding_instruction,
    )
    return await _open_named(named, settings, stack, meter)


async def _open_named(
    named: _Named, settings: Settings, stack: AsyncExitStack, meter: Meter
) -> Embedder:
    from lightwell.models import endpoint, openai_embedder

    if named.is_matryoshka and not named.dimension:
        raise Invalid(
            f"{named.prefix}_MATRYOSHKA needs {named.prefix}_DIMENSION: to how many numbers vectors are cut"
        )
    connection = await stack.enter_async_context(
        endpoint.connect(
            named_endpoint(settings, named.prefix, (named.url, named.model, named.key))
        )
    )
    prefix = f"Instruct: {named.instruction}\nQuery:" if named.instruction else ""
    return openai_embedder.OpenAIEmbedder(
        connection,
        openai_embedder.EmbeddingOptions(
            dimension=named.dimension or await openai_embedder.detect_dimension(connection),
            is_shortened=named.dimension > 0 and not named.is_matryoshka,
            is_cut=named.is_matryoshka,
            batch=settings.embedding_batch_size,
            query_prefix=prefix,
        ),
        meter,
    )


def _bundled() -> list[SpaceModel]:
    """Return the bundled models; each loads its weights with its first text."""
    from lightwell.models.bge import BgeSmall
    from lightwell.models.local import MiniLM

    return [
        SpaceModel(embedder=each, sentences=_with_cache(each), price=0.0, is_bundled=True)
        for each in (MiniLM(), BgeSmall())
    ]


def _with_cache(embedder: Embedder) -> Embedder:
    """Return a local embedder for sentences of passages: it keeps what it has embedded."""
    from lightwell.models.embedding_cache import CachedEmbedder

    return CachedEmbedder(inner=embedder)
