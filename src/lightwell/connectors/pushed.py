"""Items that programs push, as documents of a source."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import quote

from lightwell.connectors.single_document import Origin, make_document
from lightwell.domain.documents import PUSHED, SOURCE_ADDRESS, Format, NewDocument
from lightwell.domain.errors import Invalid
from lightwell.domain.pushes import ITEM, Audience, PushedItem, make_item_ref
from lightwell.domain.requests import IngestRequest
from lightwell.domain.source_items import SourceItem
from lightwell.domain.texts import require_text
from lightwell.ingest.item_pages import is_harmless
from lightwell.ingest.parse._text import to_utc

_OWN_KEYS = frozenset({SOURCE_ADDRESS, "author", "author_email"})
"""Keys of metadata that other fields of an item say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemContent:
    """What a program says of an item. With `is_file`, the content is a file of this `name`, whose first bytes or extension tell the format where `format` does not.

    Dates without a time zone are in UTC.
    """

    id: str
    content: bytes
    audience: Audience
    version: int | None = None
    title: str = ""
    format: Format | None = None
    name: str = ""
    is_file: bool = False
    url: str = ""
    author: str = ""
    author_email: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


def make_item(source_name: str, number: int, item: ItemContent, max_bytes: int) -> PushedItem:
    """Return the line with this number about an item; raise `Invalid`, `Unreadable`.

    Who sees it is said by the push alone, and not by the item's front matter.
    """
    ref = make_item_ref(source_name, item.id)
    described = IngestRequest(
        document_url="",
        acl_tags=item.audience.tags,
        title=require_text(item.title, "The title"),
        format=item.format if item.is_file else item.format or Format.MARKDOWN,
        metadata={key: text for key, text in item.metadata.items() if key not in _OWN_KEYS},
    )
    origin = Origin(
        system=PUSHED,
        kind=ITEM,
        source_id=f"{source_name}/{item.id}",
        url=f"{PUSHED}:///{source_name}/{quote(item.id)}",
        name=item.name or item.id,
    )
    made = make_document(described, origin, item.content, max_bytes)
    document = replace(
        made,
        acl_tags=item.audience.tags,
        metadata={**made.metadata, **_stated_metadata(item)},
        created_at=to_utc(item.created_at),
        updated_at=to_utc(item.updated_at),
        item_ref=ref,
        is_file=item.is_file,
    )
    document = replace(document, content_hash=_hash(document))
    return PushedItem(
        number=number,
        ref=ref,
        version=item.version,
        item=SourceItem(ref=ref, documents=(document,)),
        grants=item.audience.grants,
    )


def _stated_metadata(item: ItemContent) -> dict[str, str]:
    """Return as metadata what fields of the item say; raise `Invalid` for an address that nobody should follow."""
    if item.url and not is_harmless(item.url):
        raise Invalid("Its url is not one of the web, or contains a password or a blank")
    author, email = (
        " ".join(require_text(text, "The author").split())
        for text in (item.author, item.author_email)
    )
    stated = {SOURCE_ADDRESS: item.url, "author": author or email, "author_email": email}
    return {key: text for key, text in stated.items() if text}


def _hash(document: NewDocument) -> str:
    """Return the hash of all that is stored of the item but its access tags."""
    stored = [
        document.content_hash,
        sorted(document.metadata.items()),
        *(moment and moment.isoformat() for moment in (document.created_at, document.updated_at)),
    ]
    return hashlib.sha256(json.dumps(stored).encode()).hexdigest()
