"""Which models embed: the one that the settings name, the one they name next, and the bundled one."""

from contextlib import AsyncExitStack

from lightwell.domain.errors import Invalid
from lightwell.models.meter import Meter
from lightwell.ports import Embedder
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.settings import EmbeddingSettings, Settings
from lightwell.wiring.models import named_endpoint


async def open_embedder(settings: Settings, stack: AsyncExitStack, meter: Meter) -> Embedder:
    """Return the model for new projects: the one at the settings' endpoint, or the bundled one."""
    if settings.embedding.url is None:
        from lightwell.models.bge import BgeSmall

        return BgeSmall()
    return await _open_named(settings, "LIGHTWELL_EMBEDDING", settings.embedding, stack, meter)


async def open_models(
    settings: Settings, stack: AsyncExitStack, meter: Meter, first: Embedder
) -> tuple[SpaceModel, ...]:
    """Return the models that this process can call: `first`, which new projects use, the next one, and the bundled one."""
    bundled, following = settings.embedding.url is None, settings.next_embedding
    models = [
        SpaceModel(
            embedder=first,
            sentences=_with_cache(first) if bundled else first,
            price=0.0 if bundled else settings.embedding.price,
            is_bundled=bundled,
        )
    ]
    if following.url is not None:
        if not following.dimension:
            raise Invalid(
                "LIGHTWELL_NEXT_EMBEDDING_URL is set, but LIGHTWELL_NEXT_EMBEDDING_DIMENSION is not: give the dimension of the"
                " model's vectors"
            )
        model = await _open_named(settings, "LIGHTWELL_NEXT_EMBEDDING", following, stack, meter)
        models.append(SpaceModel(embedder=model, sentences=model, price=following.price))
    if not bundled:
        models.append(_bundled())
    return tuple(models)


async def _open_named(
    settings: Settings, prefix: str, named: EmbeddingSettings, stack: AsyncExitStack, meter: Meter
) -> Embedder:
    """Return the model that the variables with this prefix name."""
    from lightwell.models import endpoint, openai_embedder

    if named.matryoshka and not named.dimension:
        raise Invalid(
            f"{prefix}_MATRYOSHKA needs {prefix}_DIMENSION: to how many numbers vectors are cut"
        )
    login = named_endpoint(settings, prefix, (named.url or "", named.model, named.api_key))
    connection = await stack.enter_async_context(endpoint.connect(login))
    return openai_embedder.OpenAIEmbedder(
        connection,
        openai_embedder.EmbeddingOptions(
            dimension=named.dimension or await openai_embedder.detect_dimension(connection),
            is_shortened=named.dimension > 0 and not named.matryoshka,
            is_cut=named.matryoshka,
            batch=settings.ingestion.embedding_batch_size,
            query_prefix=f"Instruct: {named.instruction}\nQuery:" if named.instruction else "",
        ),
        meter,
    )


def _bundled() -> SpaceModel:
    """Return the bundled model; it loads its weights with its first text."""
    from lightwell.models.bge import BgeSmall

    embedder = BgeSmall()
    return SpaceModel(
        embedder=embedder, sentences=_with_cache(embedder), price=0.0, is_bundled=True
    )


def _with_cache(embedder: Embedder) -> Embedder:
    """Return a local embedder for sentences of passages: it keeps what it has embedded."""
    from lightwell.models.embedding_cache import CachedEmbedder

    return CachedEmbedder(inner=embedder)
