"""Which profiles a run of derivation takes up: of all that wait for a summary or a vector."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.ids import ClassId


@dataclass(frozen=True, slots=True, kw_only=True)
class DueProfiles:
    """With `since`, only profiles that were recomputed then or later; with `classes`, only those of these access classes."""

    since: datetime | None = None
    classes: Sequence[ClassId] | None = None

    @property
    def parameters(self) -> Mapping[str, object]:
        """The parameters of the statements that claim profiles."""
        return {"since": self.since, "of": None if self.classes is None else list(self.classes)}


ALL_DUE = DueProfiles()
