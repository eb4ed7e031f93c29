"""Copies a project's vectors from one store to another, without a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.ids import ChunkId, ClassId, ProjectId, SpaceId
from lightwell.ports import ChunkVector, VectorIndex
from lightwell.records.database import Database
from lightwell.records.documents import chunks
from lightwell.records.embedding_spaces import Space
from lightwell.records.graph import profile_queue
from lightwell.records.graph.profile_queue import EmbeddedProfile, Key

_ROWS_PER_BATCH = 1000

Progress = Callable[[int], None]
"""Takes how many vectors have been copied so far."""


class CopiedProfiles(Protocol):
    """A `ProfileIndex` that gives and takes vectors as they are."""

    async def prepare(self, space: SpaceId, dimension: int) -> None: ...

    async def vectors(
        self, space: SpaceId, profiles: Sequence[EmbeddedProfile]
    ) -> dict[Key, NDArray[np.float32]]: ...

    async def put_copies(
        self, space: SpaceId, copies: Mapping[EmbeddedProfile, NDArray[np.float32]]
    ) -> None: ...

    async def build(self, space: SpaceId) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedVectors:
    """How many vectors of passages and profiles the target has now; `missing` and `missing_profiles` had none in either store."""

    chunks: int
    missing: int
    profiles: int
    missing_profiles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorCopy:
    """What is copied: the vectors of one project's space."""

    database: Database
    project_id: ProjectId
    space: Space

    async def copy_chunks(
        self, source: VectorIndex, target: VectorIndex, progress: Progress
    ) -> tuple[int, int]:
        """Copy the vectors of all published chunks; return how many were copied, and how many the source lacks.

        Chunks that are published meanwhile are written to the store that the writing process uses. It may be repeated.
        """
        await target.prepare(self.space.id, self.space.dimension)
        copied = missing = 0
        after: ChunkId | None = None
        while batch := await chunks.list_published_ids(
            self.database, self.project_id, after=after, limit=_ROWS_PER_BATCH
        ):
            after = ChunkId(batch[-1][0])
            vectors = await source.vectors(self.space.id, [chunk for chunk, _ in batch])
            present = [
                ChunkVector(chunk_id=chunk, class_id=class_id, vector=vectors[chunk])
                for chunk, class_id in batch
                if chunk in vectors
            ]
            await target.put(self.space.id, present)
            copied += len(present)
            missing += len(batch) - len(present)
            progress(copied)
        await target.build(self.space.id)
        return copied, missing

    async def copy_profiles(
        self, source: CopiedProfiles, target: CopiedProfiles, progress: Progress
    ) -> tuple[int, int]:
        """Copy the vectors of all profiles; return how many the target has, and how many neither store had.

        The latter are marked, so that the next ingestion or worker embeds them. Profiles that change meanwhile are written to the store
        that the writing process uses. It may be repeated.
        """
        await target.prepare(self.space.id, self.space.dimension)
        copied = missing = 0
        after: Key = (UUID(int=0), ClassId(0))
        while batch := await profile_queue.list_embedded(
            self.database, self.project_id, after=after, limit=_ROWS_PER_BATCH
        ):
            after = batch[-1].key
            vectors = await source.vectors(self.space.id, batch)
            absent = [profile for profile in batch if profile.key not in vectors]
            there = await target.vectors(self.space.id, absent)
            copies = {profile: vectors[profile.key] for profile in batch if profile not in absent}
            await target.put_copies(self.space.id, copies)
            lost = [profile.key for profile in absent if profile.key not in there]
            await profile_queue.mark_lost(self.database, lost)
            copied += len(batch) - len(lost)
            missing += len(lost)
            progress(copied)
        await target.build(self.space.id)
        return copied, missing
