"""Who can see a document, in words: which groups and people its access tags reach."""

from dataclasses import dataclass
from enum import StrEnum

from lightwell.domain.access import Tags
from lightwell.domain.documents import PUSHED

MAX_NAMES = 100
"""Names of people that are listed for a tag, at most."""


class Reach(StrEnum):
    """Whom an access tag reaches: one person by a tag of their own, groups, everybody in the directory, or whoever has the tag."""

    PERSON = "person"
    GROUP = "group"
    EVERYONE = "everyone"
    TAG = "tag"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagHolders:
    """Who has an access tag: the groups that give it, how many active people and keys of no person have it, and who these people are."""

    tag: str
    groups: tuple[str, ...]
    people: int
    keys: int
    names: tuple[str, ...]
    own_groups: tuple[str, ...]
    is_own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AudiencePart:
    """Whom one access tag of a document reaches. `names` of people are for administrators; `through_me`: whoever asks has the tag.

    `people` counts active people of the directory, `keys` the API keys that name no person.
    """

    tag: str
    name: str
    kind: Reach
    groups: tuple[str, ...]
    people: int
    keys: int
    names: tuple[str, ...]
    through_me: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWay:
    """Through what whoever asks sees a document: a tag of their own, or of a group of theirs, whose name this is."""

    tag: str
    kind: Reach
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who can see a document. `people` counts those whom any of its tags reaches, each once."""

    parts: tuple[AudiencePart, ...]
    people: int
    mine: tuple[OwnWay, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagChange:
    """A document's tags before and after a change."""

    old: Tags
    new: Tags

    def among(self, tags: Tags) -> "TagChange":
        """Return the change as far as somebody with these tags knows of the others."""
        return TagChange(old=self.old & tags, new=self.new & tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceChange:
    """Who gets access, or loses it: through which tags, and how many active people; `names` of them are for administrators."""

    parts: tuple[AudiencePart, ...]
    people: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPreview:
    """What a change of a document's tags means."""

    gains: AudienceChange
    loses: AudienceChange


def describe_tag(
    holders: TagHolders, *, everybody: int, has_it: bool, shows_names: bool
) -> AudiencePart:
    """Return whom a tag reaches; `everybody` is how many active people the directory has.

    The group that stands for one person has that person's address as its name.
    """
    groups = () if is_of_one_person(holders.tag) and not shows_names else holders.groups
    if holders.people == everybody > 1:
        kind, name = Reach.EVERYONE, ", ".join(groups) or holders.tag
    elif groups:
        kind, name = Reach.GROUP, ", ".join(groups)
    elif holders.tag.startswith("user:") or holders.people == 1:
        kind = Reach.PERSON
        name = holders.names[0] if shows_names and len(holders.names) == 1 else holders.tag
    else:
        kind, name = Reach.TAG, holders.tag
    return AudiencePart(
        tag=holders.tag,
        name=name,
        kind=kind,
        groups=groups,
        people=holders.people,
        keys=holders.keys,
        names=holders.names if shows_names else (),
        through_me=has_it,
    )


def own_ways(holders: TagHolders) -> tuple[OwnWay, ...]:
    """Return through what whoever has this tag has it: an own tag first, then groups by name; else by the tag alone."""
    ways = [OwnWay(tag=holders.tag, kind=Reach.PERSON, name="")] if holders.is_own else []
    ways += [OwnWay(tag=holders.tag, kind=Reach.GROUP, name=name) for name in holders.own_groups]
    return tuple(ways) or (OwnWay(tag=holders.tag, kind=Reach.TAG, name=""),)


def is_of_one_person(tag: str) -> bool:
    """Return whether a tag as it is stored is that of one person, whom only administrators may name."""
    return tag.startswith(f"{PUSHED}:") and ":person:" in tag
