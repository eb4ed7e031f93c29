"""Embeds what an embedding space lacks: published chunks and described profiles without a vector in it.

    claim ─ text ─ embed (equal texts once) ─ put ─ close the gap

Where the space's vectors are those of windows, as the local network's are, the claimed chunks are encoded instead, for late interaction too.

A process that dies leaves claims, which run out. Whatever is deleted, moved or described anew meanwhile is seen at the put.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.ids import ChunkId, ClassId, ProjectId, SpaceId
from lightwell.ingest.chunk_encoding import encode_published
from lightwell.ingest.chunking import text_to_embed
from lightwell.ingest.profile_embedding import MAX_CHARACTERS, profile_text, text_hash
from lightwell.ports import (
    ChunkVector,
    Embedder,
    LateInteraction,
    ProfileIndex,
    ProfileVector,
    VectorIndex,
)
from lightwell.records import embedding_space_changes, multi_vectors, passage_gaps
from lightwell.records.database import Database
from lightwell.records.documents import chunks as published
from lightwell.records.documents.chunks import PublishedChunk
from lightwell.records.graph import profile_queue
from lightwell.tasks import gather_or_cancel
from lightwell.text.tokens import token_count

_BATCHES_AT_ONCE = 8

_PORTION = 64
"""Chunks that are encoded for a change of the model before a worker looks for jobs again: some four seconds."""

Vector = NDArray[np.float32]

_Text = tuple[ClassId, bytes]
"""An access class, and the hash of a text in it: whether a text is embedded shows in time, so classes share nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapFiller:
    """The stores of one project; `batch_size` texts per request to an embedder, several of which are made at once.

    `late_interaction` encodes the chunks of the space that it names.
    """

    database: Database
    project_id: ProjectId
    vectors: VectorIndex
    profiles: ProfileIndex
    batch_size: int
    late_interaction: LateInteraction | None = None

    async def fill_chunks(self, space: SpaceId, embedder: Embedder) -> bool:
        """Embed some of the chunks that the space lacks; return whether there were any to claim. Raises `ModelFailed`, `StoreFailed`."""
        limit = _BATCHES_AT_ONCE * self.batch_size if self._encoder(embedder) is None else _PORTION
        claimed = await passage_gaps.claim_for_change(
            self.database, space, limit=limit, seconds=embedding_space_changes.CLAIM_SECONDS
        )
        if not claimed:
            return False
        await self.read_claimed(space, embedder, claimed)
        return True

    async def read_claimed(
        self, space: SpaceId, embedder: Embedder, claimed: Sequence[ChunkId]
    ) -> Sequence[PublishedChunk]:
        """Give chunks that were claimed their vectors in the space; return those that are still there. Raises `ModelFailed`, `StoreFailed`."""
        database = self.database
        try:
            entries = await published.list_published_by_id(database, claimed)
            joined = await self._from_windows(self._encoder(embedder), entries)
            others = [entry for entry in entries if entry.chunk.id not in joined]
            by_text, tokens = await self._embed(space, embedder, others)
            embedded = {entry.chunk.id: by_text[_text(entry)] for entry in others}
            vector_of = {**joined, **embedded}
            vectors = [
                ChunkVector(
                    chunk_id=entry.chunk.id,
                    class_id=entry.class_id,
                    vector=vector_of[entry.chunk.id],
                )
                for entry in entries
            ]
            await self.vectors.put(space, vectors)
            await embedding_space_changes.close_chunks(database, space, claimed, tokens)
        finally:
            await embedding_space_changes.release_chunks(database, space, claimed)
        return entries

    async def fill_profiles(self, space: SpaceId, embedder: Embedder) -> bool:
        """Embed some of the profiles that the space, which is not active, lacks; return whether there were any to claim."""
        database = self.database
        claims = await embedding_space_changes.claim_profiles(database, space, self.batch_size)
        if not claims:
            return False
        try:
            described = await profile_queue.describe(
                database, claims, max_characters=MAX_CHARACTERS
            )
            described_texts = [(profile, profile_text(profile)) for profile in described]
            texts = list(dict.fromkeys(text for _, text in described_texts))
            vector_by_text = dict(zip(texts, await embedder.embed_documents(texts), strict=True))
            vectors = [
                ProfileVector(
                    subject=profile.subject,
                    claim=profile.claim,
                    text_hash=text_hash(text),
                    vector=vector_by_text[text],
                )
                for profile, text in described_texts
            ]
            await self.profiles.put(space, vectors)
            await embedding_space_changes.close_profiles(database, space, claims)
            tokens = sum(token_count(text) for text in texts)
            await embedding_space_changes.add_tokens(database, space, tokens)
        finally:
            await profile_queue.release(database, claims)
        return True

    async def _from_windows(
        self, encoder: LateInteraction | None, entries: Sequence[PublishedChunk]
    ) -> Mapping[ChunkId, Vector]:
        """Return the vectors of those of the chunks that have windows, which are encoded for it."""
        if encoder is None:
            return {}
        await encode_published(self.database, self.project_id, encoder, entries)
        ids = [entry.chunk.id for entry in entries]
        return await multi_vectors.join_windows_of(self.database, encoder.model, ids)

    def _encoder(self, embedder: Embedder) -> LateInteraction | None:
        """Return what encodes the chunks of this embedder's spaces, None where it embeds their texts."""
        encoder = self.late_interaction
        return encoder if encoder is not None and encoder.space == embedder.model else None

    async def _embed(
        self, space: SpaceId, embedder: Embedder, entries: Sequence[PublishedChunk]
    ) -> tuple[Mapping[_Text, Vector], int]:
        """Return the vector of each text, and how many tokens were embedded; equal texts of a class are embedded once."""
        if not entries:
            return {}, 0
        wanted = {_text(entry) for entry in entries}
        same = await published.find_published_by_hash(self.database, self.project_id, wanted)
        stored = await self.vectors.vectors(space, list(same.values()))
        reused = {text: stored[chunk] for text, chunk in same.items() if chunk in stored}
        texts = {
            _text(entry): text_to_embed(entry.title, entry.chunk.draft)
            for entry in entries
            if _text(entry) not in reused
        }
        wanted_texts = list(texts.values())
        batches = [
            wanted_texts[start : start + self.batch_size]
            for start in range(0, len(wanted_texts), self.batch_size)
        ]
        parts = await gather_or_cancel(embedder.embed_documents(batch) for batch in batches)
        embedded = [vector for part in parts for vector in part]
        tokens = sum(token_count(text) for text in wanted_texts)
        return {**reused, **dict(zip(texts, embedded, strict=True))}, tokens


def _text(entry: PublishedChunk) -> _Text:
    return entry.class_id, entry.chunk.hash
