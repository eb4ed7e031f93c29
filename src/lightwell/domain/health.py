"""What `doctor` finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at; `mend` says what to do where it is not well, and is "" where it is."""

    name: str
    ok: bool
    detail: str
    fix: str
