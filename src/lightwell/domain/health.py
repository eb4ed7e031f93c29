"""Results of `lightwell doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that `doctor` examined; `fix` says what to do if it is not in order, "" if it is."""

    name: str
    ok: bool
    detail: str
    fix: str
