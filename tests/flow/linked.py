"""Documents of business systems, whose structure states entities and links."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from lightwell.domain.ids import GlobalRef
from lightwell.domain.item_structure import ItemStructure, LinkType, StatedEntity, StatedLink
from lightwell.testing.sources import make_document

from .notes import Noted


def entity(ref: str, name: str, **attributes: str) -> StatedEntity:
    """Return an entity whose kind is the second part of its reference."""
    return StatedEntity(
        ref=GlobalRef(ref),
        kind=ref.split(":")[1],
        name=name,
        url=attributes.pop("url", ""),
        attributes=attributes,
    )


def stated(source: StatedEntity, type_: LinkType, target: StatedEntity) -> StatedLink:
    return StatedLink(source=source.ref, target=target.ref, type=type_, relation="states")


async def put_item(
    store: Noted,
    tags: Iterable[str],
    text: str,
    *entities: StatedEntity,
    links: Iterable[StatedLink] = (),
) -> None:
    """Store the document of an item: the first entity is the item itself."""
    name = entities[0].ref.replace(":", "-")
    document = make_document(f"{name}.txt", text, tags, title=entities[0].name)
    structure = ItemStructure(entities=entities, links=tuple(links))
    store.shelf[name] = replace(
        document,
        item_ref=entities[0].ref,
        structure=structure,
        updated_at=datetime(2026, 3, 2, tzinfo=UTC),
        content_hash=hashlib.sha256(f"{text} {structure}".encode()).hexdigest(),
    )
    await store.ingest()
