"""Identifiers: each kind of thing has its own type."""

from typing import NewType
from uuid import UUID

from uuid_utils.compat import uuid7

TenantId = NewType("TenantId", UUID)
ProjectId = NewType("ProjectId", UUID)
DocumentId = NewType("DocumentId", UUID)
ChunkId = NewType("ChunkId", UUID)
EntityId = NewType("EntityId", UUID)
RelationId = NewType("RelationId", UUID)
MergeId = NewType("MergeId", UUID)
SplitId = NewType("SplitId", UUID)
JobId = NewType("JobId", UUID)
RunId = NewType("RunId", UUID)
QueryId = NewType("QueryId", UUID)
SessionId = NewType("SessionId", UUID)
ConversationId = NewType("ConversationId", UUID)
FeedbackId = NewType("FeedbackId", UUID)

GlobalRef = NewType("GlobalRef", str)
"""`<system>:<type>:<id>`, stable across syncs and renames: `linear:issue:ENG-42`."""

ClassId = NewType("ClassId", int)
"""An access class: one distinct set of ACL tags in one project."""

STAGED_CLASS = ClassId(0)
"""The access class of chunks that are not published yet. No reader's classes contain it."""

SpaceId = NewType("SpaceId", int)
"""An embedding space: one model, one dimension, one metric."""


def new_id() -> UUID:
    """Return a UUID v7: unique, and later ones sort after earlier ones."""
    return uuid7()


def parse_uuid(text: str) -> UUID | None:
    """Return the UUID that the text is, with space around it or not, None for another text."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def new_query_id() -> QueryId:
    """Return an id for a new question."""
    return QueryId(new_id())


def make_chunk_id(job_id: JobId, index: int) -> ChunkId:
    """Return the id of the chunk with this index in this job: chunks sort by the time of their jobs, then by
    index.

    The index replaces the last 32 random bits of the job's UUID v7. So the order of chunks does not depend on
    which of several documents is processed first.
    """
    return ChunkId(UUID(int=(job_id.int >> 32 << 32) | index))


def global_ref(system: str, kind: str, source_id: str) -> GlobalRef:
    """Return `<system>:<kind>:<source_id>`; system and kind are lower-case words without a colon."""
    return GlobalRef(f"{system}:{kind}:{source_id}")
