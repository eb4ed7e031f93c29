"""Embedding spaces and estimates of changes as JSON: one form for the command line and HTTP."""

from collections.abc import Mapping

from lightwell.ingest.embedding_change import ChangeEstimate
from lightwell.records.embedding_space_progress import SpaceProgress


def embedding_space(progress: SpaceProgress) -> Mapping[str, object]:
    """Return a space with what it lacks."""
    return {
        "model": progress.space.model,
        "dimension": progress.space.dimension,
        "status": progress.space.status.value,
        "chunks": progress.chunks,
        "missingChunks": progress.missing_chunks,
        "profiles": progress.profiles,
        "missingProfiles": progress.missing_profiles,
        "percent": progress.percent,
        "secondsLeft": None if progress.seconds_left is None else round(progress.seconds_left, 1),
        "tokens": progress.tokens,
        "startedAt": progress.started_at and progress.started_at.isoformat(),
        "endedAt": progress.ended_at and progress.ended_at.isoformat(),
    }


def change_estimate(estimate: ChangeEstimate) -> Mapping[str, object]:
    """Return what a change takes; the price is null where it is unknown."""
    return {
        "model": estimate.model,
        "dimension": estimate.dimension,
        "chunks": estimate.chunks,
        "profiles": estimate.profiles,
        "tokens": estimate.tokens,
        "price": estimate.price,
        "seconds": round(estimate.seconds, 1),
    }
