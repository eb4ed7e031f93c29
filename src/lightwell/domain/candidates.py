"""The entities that an ambiguous name may mean, with what distinguishes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lightwell.domain.graph import Entity
from lightwell.domain.ids import QueryId, new_query_id
from lightwell.domain.usage import NO_USAGE, TokenSummary

MAX_CANDIDATES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An entity that a name may mean; `distinguishing` names a few fields that tell it from the others, its
    kind first.

    Each of several people with one name is a candidate. Its reference ends in the e-mail address, or in `<>`
    where no document gives one; its description is that address.
    """

    entity: Entity
    distinguishing: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Up to ten entities that a name may mean, the likeliest first; a reference selects one."""

    name: str
    candidates: tuple[Candidate, ...]
    usage: TokenSummary = NO_USAGE
    query_id: QueryId = field(default_factory=new_query_id)
