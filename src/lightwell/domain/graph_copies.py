"""How far the copy of a graph in another store is behind."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyLag:
    """One project's copy: whether it was filled once, how many chunks, documents and profiles wait to be applied, and the longest for how long."""

    tenant: str
    project: str
    store: str
    is_filled: bool
    changes: int
    seconds: float
