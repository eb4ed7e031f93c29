"""How a person names one relation."""

from dataclasses import dataclass

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationKey:
    """Identifies a relation: `source` and `target` are names, references or ids of its ends, as the reader
    knows them.

    As text it is `SOURCE PREDICATE TARGET`.
    """

    source: str
    predicate: Predicate
    target: str

    def __str__(self) -> str:
        return f"{self.source} {self.predicate.value} {self.target}"


def parse_relation_key(text: str) -> RelationKey:
    """Return the key in this text; raise `Invalid` if no predicate stands between two ends."""
    words = text.split()
    predicates = frozenset(predicate.value for predicate in Predicate)
    for place, word in enumerate(words[1:-1], start=1):
        if word in predicates:
            return RelationKey(
                source=" ".join(words[:place]),
                predicate=Predicate(word),
                target=" ".join(words[place + 1 :]),
            )
    raise Invalid(
        f"{text!r} is not a relation; write SOURCE PREDICATE TARGET, for example Acme USES Osprey"
    )
