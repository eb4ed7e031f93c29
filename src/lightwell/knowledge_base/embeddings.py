"""The verbs on embedding models: which one a project uses, and the change to another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lightwell.domain.errors import Invalid, NotFound
from lightwell.ingest import embedding_change
from lightwell.ingest.context import IngestContext, follow_space
from lightwell.ingest.embedding_change import ChangeEstimate
from lightwell.records import embedding_space_progress
from lightwell.records.embedding_space_progress import SpaceProgress
from lightwell.records.embedding_spaces import SpaceModel, SpaceStatus

UNDER_WAY = (SpaceStatus.PREPARING, SpaceStatus.BUILDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """The embedding spaces of one project. Its caller must be an administrator, or hold the database itself."""

    context: IngestContext

    async def list(self) -> list[SpaceProgress]:
        """Return the project's spaces, the oldest first, with what each lacks."""
        return await embedding_space_progress.list_progress(
            self.context.database, self.context.project_id
        )

    async def estimate(self, model: str) -> ChangeEstimate:
        """Return what a change to this model takes; raise `NotFound` for a model that this process cannot call, `ModelFailed`."""
        return await embedding_change.estimate(self.context, await self._find_model(model))

    async def start(self, model: str) -> ChangeEstimate:
        """Begin a change to this model, which workers carry out, and return what it takes.

        Raises `NotFound`, `ModelFailed`, `Invalid` where a change is under way or the model is the current one, and `BudgetSpent`.
        """
        chosen = await self._find_model(model)
        estimate = await embedding_change.estimate(self.context, chosen)
        await embedding_change.start(self.context, chosen, estimate.tokens)
        return estimate

    async def is_changing(self) -> bool:
        """Return whether a change is under way."""
        return await embedding_change.find_building(self.context) is not None

    async def finish(self, progress: Callable[[SpaceProgress], None]) -> None:
        """Carry the change that is under way out, beside workers, until the new space is active; raise as `change_until_swapped`."""
        await embedding_change.change_until_swapped(self.context, progress)

    async def advance(self) -> bool:
        """Do one step of the change that is under way; return whether there was anything to do. For workers."""
        building = await embedding_change.find_building(self.context)
        return building is not None and await embedding_change.advance(self.context, building)

    async def cancel(self) -> None:
        """End the change that is under way, and drop what was embedded for it; raise `NotFound` where there is none."""
        if not await embedding_change.drop(self.context, UNDER_WAY):
            raise NotFound("No change of the embedding model is under way")

    async def drop_retired(self, *, hours: float = 0.0) -> int:
        """Drop the vectors of earlier models that were replaced so long ago; return of how many."""
        return await embedding_change.drop(
            self.context, [SpaceStatus.RETIRED], seconds=hours * 3600
        )

    async def _find_model(self, name: str) -> SpaceModel:
        """Return the model of this name; "" is the first of those that the settings name and the project does not use."""
        current = (await follow_space(self.context)).space
        models = self.context.models
        others: Sequence[SpaceModel] = [model for model in models if not model.fits(current)]
        if not name:
            named = [model for model in others if not model.is_bundled or model is models[0]]
            if not named:
                raise Invalid(
                    "Name the model to change to, or set LIGHTWELL_NEXT_EMBEDDING_URL, _MODEL and _DIMENSION. These can be"
                    f" used: {', '.join(model.embedder.model for model in others)}"
                )
            return named[0]
        for model in (*others, *models):
            if model.embedder.model == name:
                return model
        raise NotFound(
            f"There is no embedding model {name!r} here: name it in LIGHTWELL_NEXT_EMBEDDING_URL, _MODEL and _DIMENSION, or"
            f" use one of {', '.join(model.embedder.model for model in models)}"
        )
