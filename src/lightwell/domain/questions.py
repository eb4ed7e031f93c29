"""Questions, and the channels that search for evidence."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from lightwell.domain.errors import Invalid
from lightwell.domain.ids import DocumentId, SessionId
from lightwell.domain.texts import require_text

MAX_QUESTION_LENGTH = 2000
SUFFICIENT_RELEVANCE = 0.6
"""The calibrated relevance that the best evidence needs, so that a question is answered."""

DEFAULT_LIMIT = 5
"""Passages that answer a question."""

_LONGEST_FILTER = 256
_MOST_VALUES = 20


class Channel(StrEnum):
    """How a candidate was found.

    By vector similarity, by full-text search; from entities and from relations, by name or by similar profiles;
    from chunks that share rare entities with the best candidates; along confirmed links of the entities that
    the question names. benchmarks/README.md has what each finds that others do not.
    """

    DENSE = "dense"
    LEXICAL = "words"
    ENTITIES = "entities"
    """Low-level keywords lead to entities: what the modes `local` and `hybrid` are (S0). In `mix` it adds nothing measured."""
    RELATIONS = "relations"
    """High-level keywords lead to relations: what the mode `global` is (S0). In `mix` it adds nothing measured."""
    NEIGHBOURS = "neighbours"
    """Questions of several hops lose 4 of 100 points without it."""
    LINKS = "links"
    """The only way from a system's record to another's that shares no words with it (S2)."""


PASSAGE_CHANNELS = frozenset({Channel.DENSE, Channel.LEXICAL})
GRAPH_CHANNELS = frozenset(Channel) - PASSAGE_CHANNELS
_AROUND_ENTITIES = frozenset({Channel.ENTITIES, Channel.NEIGHBOURS, Channel.LINKS})


class Mode(StrEnum):
    """Where to search; the names are LightRAG's.

    `naive` passages only · `local` from entities · `global` from relations · `hybrid` from both · `mix`
    everywhere · `bypass` nowhere: the model answers without evidence, and the answer says so.
    """

    NAIVE = "naive"
    LOCAL = "local"
    GLOBAL = "global"
    HYBRID = "hybrid"
    MIX = "mix"
    BYPASS = "bypass"

    @property
    def channels(self) -> frozenset[Channel]:
        return _CHANNELS[self]

    @property
    def strategy(self) -> "Strategy":
        return _STRATEGIES[self]


class Strategy(StrEnum):
    """The mode as the query log stores it (`rag_queries.strategy_used`)."""

    VECTOR_ONLY = "vector_only"
    GRAPH_ONLY = "graph_only"
    HYBRID = "hybrid"


class Fusion(StrEnum):
    """How the channels' results are ordered: by learned weights, or by reciprocal rank fusion (RRF)."""

    LEARNED = "learned"
    RRF = "rrf"


_CHANNELS: Mapping[Mode, frozenset[Channel]] = {
    Mode.NAIVE: PASSAGE_CHANNELS,
    Mode.LOCAL: _AROUND_ENTITIES,
    Mode.GLOBAL: frozenset({Channel.RELATIONS}),
    Mode.HYBRID: GRAPH_CHANNELS,
    Mode.MIX: frozenset(Channel),
    Mode.BYPASS: frozenset(),
}

_STRATEGIES: Mapping[Mode, Strategy] = {
    Mode.NAIVE: Strategy.VECTOR_ONLY,
    Mode.LOCAL: Strategy.GRAPH_ONLY,
    Mode.GLOBAL: Strategy.GRAPH_ONLY,
    Mode.HYBRID: Strategy.GRAPH_ONLY,
    Mode.MIX: Strategy.HYBRID,
    Mode.BYPASS: Strategy.VECTOR_ONLY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which documents a question is asked of; "", () and None are any. Several values of one field are alternatives.

    `systems`, `kinds` and the names of `sources` are exact. A document is by an author whose name has all words of one of
    `authors`, in any case. It has one of the access `tags`, and all of `metadata`. `since` and `until` are days in UTC: a
    document's date is the one that it states, an item's its last change; a document without a date is in no such span.
    With `from_words`, words of the question such as "last month" may narrow it, too. Raises `Invalid` for a text that is too
    long, for too many, and for a span that ends before it begins.
    """

    topic: str = ""
    sources: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    since: date | None = None
    until: date | None = None
    from_words: bool = True

    def __post_init__(self) -> None:
        texts = {
            "topic": (self.topic,),
            "source": self.sources,
            "system": self.systems,
            "type": self.kinds,
            "author": self.authors,
            "tag": self.tags,
            "metadata": tuple(text for pair in self.metadata for text in pair),
        }
        for what, values in texts.items():
            if len(values) > _MOST_VALUES:
                raise Invalid(f"A question names at most {_MOST_VALUES} values of {what}")
            for text in values:
                _require_short(text, what)
        if self.since and self.until and self.since > self.until:
            raise Invalid(f"From {self.since} to {self.until} there is no day")

    @property
    def are_by_document(self) -> bool:
        """Whether they ask for more than the topic."""
        return replace(self, topic="", from_words=True) != NO_FILTERS

    @property
    def parameters(self) -> dict[str, object]:
        """What queries with `records.filters` in them take."""
        return {
            "topic": self.topic,
            "are_by_document": self.are_by_document,
            "sources": list(self.sources),
            "systems": list(self.systems),
            "kinds": list(self.kinds),
            "authors": [" ".join(name.replace(",", " ").split()) for name in self.authors],
            "access_tags": list(self.tags),
            "metadata": json.dumps(dict(self.metadata)),
            "since": self.since,
            "until": self.until,
        }


def _require_short(text: str, what: str) -> None:
    if len(text) > _LONGEST_FILTER:
        raise Invalid(f"A {what} has at most {_LONGEST_FILTER} characters")
    require_text(text, f"The {what}")


NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstoodFilter:
    """A filter that `words` of the question mean: `field` is that of a request's filters, `value` one of its values."""

    field: str
    value: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedPlace:
    """What an answer cites: a document, from the character `start` of its text on."""

    document_id: DocumentId
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its options, valid once it is made: a malformed one raises `Invalid`.

    `filters` say of which documents it is asked; `limit` is the number of passages. Without `include_graph` only passages are
    searched. `excluded_channels` are not searched either; evaluation uses this to measure what each channel contributes.
    `session_id` is an open session of the same user, which the question is logged in. With `look_twice` a chat model may search again
    before it answers; `with_unsupported` asks for the sentences of its reply that no quote supports, too. `text` is without surrounding white space. A question of a conversation has the `subject` that it leaves out, in words of the
    conversation, and `near`, the places that the last answer cites, where it is looked for first; with `stays_near`, passages elsewhere are left out
    where those there are about as relevant.
    """

    text: str
    filters: Filters = NO_FILTERS
    limit: int = DEFAULT_LIMIT
    mode: Mode = Mode.MIX
    include_graph: bool = True
    excluded_channels: frozenset[Channel] = frozenset()
    session_id: SessionId | None = None
    look_twice: bool = False
    with_unsupported: bool = False
    subject: str = ""
    near: tuple[CitedPlace, ...] = ()
    stays_near: bool = False

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise Invalid("Query cannot be empty")
        if len(self.text) > MAX_QUESTION_LENGTH:
            raise Invalid("Query exceeds maximum length")
        if not 1 <= self.limit <= 20:
            raise Invalid("topK must be between 1 and 20")
        object.__setattr__(self, "text", require_text(self.text, "The question").strip())
        if self.look_twice and self.mode is Mode.BYPASS:
            raise Invalid("Mode bypass does not search, so it cannot look twice: leave one out")
        if not self.include_graph and self.mode is not Mode.BYPASS and not self.channels:
            raise Invalid(
                f"Mode {self.mode.value} searches only the graph: set includeGraph to true, or use mode naive or mix"
            )

    @property
    def as_read(self) -> str:
        """The question with what it leaves out, in brackets."""
        return with_left_out(self.text, self.subject)

    @property
    def channels(self) -> frozenset[Channel]:
        without_graph = frozenset[Channel]() if self.include_graph else GRAPH_CHANNELS
        return self.mode.channels - self.excluded_channels - without_graph

    @property
    def strategy(self) -> Strategy:
        """Return the strategy for the query log: VECTOR_ONLY where no graph channel is searched."""
        return self.mode.strategy if self.channels & GRAPH_CHANNELS else Strategy.VECTOR_ONLY


def with_left_out(text: str, subject: str) -> str:
    """Return a question with the subject that it leaves out, in brackets; "" is none."""
    return f"{text} ({subject})" if subject else text


def require_retrieval_mode(question: Question) -> Question:
    """Return the question; raise `Invalid` when its mode searches nothing."""
    if question.mode is Mode.BYPASS:
        raise Invalid(
            "Mode bypass does not search, so it returns no passages; only ask and chat support it"
        )
    return question
