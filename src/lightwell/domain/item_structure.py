"""What an item of a business system states apart from its text: entities, and links between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from lightwell.domain.ids import GlobalRef


class LinkType(StrEnum):
    """What a link between two entities says."""

    SAME_AS = "same_as"
    RELATED_TO = "related_to"
    BELONGS_TO = "belongs_to"
    MAPPED_TO = "mapped_to"
    THREAD_OF = "thread_of"
    MENTIONS = "mentions"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedEntity:
    """An entity that an item is or names; `ref` is the system's own reference, such as `attio:company:<id>`.

    `aliases` are other names that the system gives it, such as former identifiers. `attributes` tell namesakes apart:
    `email`, `domain`, `owner`, `location`, and what else identifies it. `url` is "" where the system has no page for it.
    """

    ref: GlobalRef
    kind: str
    name: str
    url: str = ""
    aliases: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLink:
    """A link that the system itself states. `relation` is its own word, such as `assignee` or `blocks`."""

    source: GlobalRef
    target: GlobalRef
    type: LinkType
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStructure:
    """What an item states apart from its text. Both ends of each link are among the entities; the item's own entity comes first."""

    entities: tuple[StatedEntity, ...] = ()
    links: tuple[StatedLink, ...] = ()


NO_STRUCTURE = ItemStructure()


def replace_merged(
    structure: ItemStructure, survivors: Mapping[GlobalRef, GlobalRef]
) -> ItemStructure:
    """Return the structure with the survivors in place of items that were merged into them, each entity once."""
    entities: dict[GlobalRef, StatedEntity] = {}
    for entity in structure.entities:
        ref = survivors.get(entity.ref, entity.ref)
        # the address and the attributes were those of the former item
        entities.setdefault(
            ref, entity if ref == entity.ref else replace(entity, ref=ref, url="", attributes={})
        )
    links = [
        replace(
            link,
            source=survivors.get(link.source, link.source),
            target=survivors.get(link.target, link.target),
        )
        for link in structure.links
    ]
    return ItemStructure(
        entities=tuple(entities.values()),
        links=tuple(dict.fromkeys(link for link in links if link.source != link.target)),
    )
