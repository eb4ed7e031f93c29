"""What a framework is told of a passage, beside its text: all that a citation needs, in values that every framework stores."""

from lightwell.entrypoints.operations.searches import Passage

SHOWN_TO_MODELS = ("title", "section")
"""What of the metadata helps a model to answer."""


def citation_metadata(passage: Passage) -> dict[str, str | int | float]:
    """Return the document, the address of the place on Lightwell's page and at its source, the section, the page, the characters and the score.

    `start` and `end` are characters of the document's text, pages count from 1; what a document does not have is left out.
    """
    place, document = passage.locator, passage.metadata
    values = {
        "title": document.document_title,
        "section": " › ".join(place.section),
        "url": passage.address,
        "source": passage.source_address or passage.source_url,
        "document_id": str(document.document_id),
        "chunk_id": str(passage.chunk_id),
        "page": place.page,
        "start": place.start,
        "end": place.end,
        "score": passage.relevance_score,
        "created_at": passage.created_at.isoformat() if passage.created_at else None,
        "system": passage.source_system,
        "type": passage.source_type,
    }
    return {name: value for name, value in values.items() if value not in (None, "")}
