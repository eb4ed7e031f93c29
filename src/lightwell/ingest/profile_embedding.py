"""Embeds the profiles of entities and relations whose description changed.

    changed profiles ─ text ─► differs from the embedded text? ─► embed ─► put ─► mark, if the text is still the same

The text comes from one access class only, and the vector depends on nothing but this text.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lightwell.domain.errors import IndexFailed, ModelFailed
from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import ProjectId, SpaceId
from lightwell.logs import logger
from lightwell.ports import Embedder, ProfileIndex, ProfileVector
from lightwell.records.database import Database
from lightwell.records.graph import profile_queue
from lightwell.records.graph.profile_queue import ALL_DUE, ChangedProfile, DueProfiles, Key

MAX_CHARACTERS = 2000
"""Characters of a description that are embedded: about as many as a summary may have."""

_REMOVED_AT_ONCE = 500

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEmbedder:
    """The stores and the model that profile embedding needs; `batch_size` profiles per embedder call.

    Vectors are made for the active space `space_id`. Those of profiles that are gone are removed from all `spaces`.
    """

    database: Database
    index: ProfileIndex
    space_id: SpaceId
    spaces: Sequence[SpaceId]
    embedder: Embedder
    batch_size: int = 32


def profile_text(profile: ChangedProfile) -> str:
    """Return the text to embed: `Acme Corp (organization): sells pumps`, `Acme Corp - supplies - Nordwind: ...`."""
    if profile.subject is ProfileSubject.ENTITY:
        subject = f"{profile.name} ({profile.kind})"
    else:
        subject = " - ".join(
            part for part in (profile.source, profile.name, profile.target) if part
        )
    texts = (profile.description, profile.comparison, profile.use_case)
    description = "; ".join(text for text in texts if text)[:MAX_CHARACTERS]
    return f"{subject}: {description}" if subject else description


def text_hash(text: str) -> bytes:
    """Return the hash by which stores know of which text a vector was made."""
    return hashlib.sha256(text.encode()).digest()


async def embed_profiles(
    profile_embedder: ProfileEmbedder, project_id: ProjectId, due: DueProfiles = ALL_DUE
) -> None:
    """Update the index to the due profiles of the project.

    If the embedder or the index fails, the remaining profiles wait for the next call. Until then, search finds them by name only.
    """
    if not await profile_queue.has_changed(profile_embedder.database, project_id):
        return
    try:
        while silent := await profile_queue.claim_empty(
            profile_embedder.database, project_id, limit=_REMOVED_AT_ONCE
        ):
            for space in profile_embedder.spaces:
                await profile_embedder.index.remove(space, silent)
            await profile_queue.delete_vector_records(profile_embedder.database, silent)
        while batch := await profile_queue.claim_changed(
            profile_embedder.database,
            project_id,
            limit=profile_embedder.batch_size,
            max_characters=MAX_CHARACTERS,
            due=due,
        ):
            try:
                texts = {profile.key: profile_text(profile) for profile in batch}
                hashes = {key: text_hash(text) for key, text in texts.items()}
                changed = [profile for profile in batch if profile.text_hash != hashes[profile.key]]
                vectors = await _vectors(profile_embedder, changed, texts)
                await profile_embedder.index.put(profile_embedder.space_id, vectors)
                await profile_queue.mark_embedded(profile_embedder.database, batch, hashes)
            finally:
                await profile_queue.release(
                    profile_embedder.database, [profile.claim for profile in batch]
                )
        await profile_embedder.index.build(profile_embedder.space_id)
    except (ModelFailed, IndexFailed) as error:
        _log.warning("profiles wait for their vectors", error=str(error))


async def _vectors(
    profile_embedder: ProfileEmbedder, changed: Sequence[ChangedProfile], texts: Mapping[Key, str]
) -> list[ProfileVector]:
    """Return the vectors of these profiles; equal texts are embedded once."""
    distinct = list(dict.fromkeys(texts[profile.key] for profile in changed))
    if not distinct:
        return []
    vector_by_text = dict(
        zip(distinct, await profile_embedder.embedder.embed_documents(distinct), strict=True)
    )
    return [
        ProfileVector(
            subject=profile.subject,
            claim=profile.claim,
            text_hash=text_hash(texts[profile.key]),
            vector=vector_by_text[texts[profile.key]],
        )
        for profile in changed
    ]
