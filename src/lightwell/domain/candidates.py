"""The entities that fit one ambiguous name, with what tells them apart."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lightwell.domain.graph import Entity
from lightwell.domain.ids import QueryId, new_query_id
from lightwell.domain.usage import NO_USAGE, TokenSummary

MAX_CANDIDATES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An entity that fits a name; `apart` says in a few fields what tells it from the others, the kind first.

    Of several people with one name each is a candidate: the entity's reference ends in the e-mail address, `<>` where nothing says
    whose it is, and its description is that address.
    """

    entity: Entity
    distinguishing: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """At most ten that fit a name, the likeliest first; a reference picks one."""

    name: str
    candidates: tuple[Candidate, ...]
    usage: TokenSummary = NO_USAGE
    query_id: QueryId = field(default_factory=new_query_id)
