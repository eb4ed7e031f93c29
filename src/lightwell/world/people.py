"""The three people of Halden Instruments who ask; each sees papers that the two others do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Someone who asks; `tags` are the access tags of their credential: `team:engineering`."""

    name: str
    role: str
    tags: frozenset[str]


PEOPLE: Mapping[str, Person] = MappingProxyType(
    {
        "ada": Person(
            name="Ada Lindqvist",
            role="head of engineering",
            tags=frozenset({"tenant:halden", "team:engineering", "user:ada"}),
        ),
        "bob": Person(
            name="Bob Okafor",
            role="head of support",
            tags=frozenset({"tenant:halden", "team:support"}),
        ),
        "grace": Person(
            name="Grace Amundsen",
            role="chief financial officer",
            tags=frozenset({"tenant:halden", "team:finance", "team:sales", "user:grace"}),
        ),
    }
)
