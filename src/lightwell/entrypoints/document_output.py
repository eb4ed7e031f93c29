"""Deletions and texts of documents as JSON, with the keys that HTTP uses."""

from typing import TYPE_CHECKING

from lightwell.domain.deletions import Deletion
from lightwell.entrypoints.json_output import Json, locator

if TYPE_CHECKING:
    from lightwell.knowledge_base.documents import DocumentText


def deletion(deletion: Deletion) -> Json:
    """Return what a deletion removed."""
    return {
        "documentIds": [str(each) for each in deletion.documents],
        "entitiesDeleted": list(deletion.entities_deleted),
        "entitiesRebuilt": list(deletion.entities_rebuilt),
        "relationsDeleted": deletion.relations_deleted,
        "relationsRebuilt": deletion.relations_rebuilt,
        "removed": {
            "chunks": deletion.chunks,
            "vectors": deletion.vectors,
            "mentions": deletion.mentions,
            "relationMentions": deletion.relation_mentions,
        },
        "errors": list(deletion.errors),
    }


def document_text(shown: "DocumentText") -> Json:
    """Return a document's text, and the passage of it that was asked for."""
    start, end = shown.passage or (0, 0)
    passage = {
        "start": start,
        "end": end,
        "text": shown.text[start:end],
        "chunkId": str(shown.chunk.id) if shown.chunk else None,
        "locator": locator(shown.chunk.locator) if shown.chunk else None,
    }
    return {
        "documentId": str(shown.document.id),
        "documentRef": shown.document.ref,
        "title": shown.document.title,
        "text": shown.text,
        "passage": passage if shown.passage else None,
    }
