"""Who holds a lease, on jobs (`jobs/queue.py`) or on a source (`sources.py`)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseHolder:
    """A worker as the holder of leases: after `seconds` without a heartbeat, other workers may take over what it holds."""

    name: str
    seconds: float
