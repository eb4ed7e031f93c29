"""How similar in meaning two texts are, from the cosine of their vectors: the models differ in what a cosine says."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineScale:
    """Makes of a model's cosines similarities that mean about the same for each model: 0 for unrelated texts, 1 for equal ones.

    It keeps their order. Without values, a cosine is taken as it is.
    """

    factor: float = 1.0
    offset: float = 0.0

    def similarity(self, cosine: float | None) -> float:
        """Return the similarity, 0 where no cosine is known; below 0 for texts that are less alike than unrelated ones are on average."""
        return 0.0 if cosine is None else self.factor * cosine + self.offset


_SCALES: Mapping[str, CosineScale] = {
    # Unrelated passages lie at 0.39 to 0.50 on average, those that answer at 0.63 to 0.70 (`benchmarks/README.md`).
    "bge-small-en-v1.5": CosineScale(factor=1.5, offset=-0.6),
}


def cosine_scale(model: str) -> CosineScale:
    """Return the scale of the model with this name, at whatever endpoint; of one that was not measured, that of cosines as they are."""
    name = model.lower()
    return next((scale for family, scale in _SCALES.items() if family in name), CosineScale())
