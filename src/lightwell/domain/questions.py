"""What is asked, and along which channels evidence is looked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from lightwell.domain.errors import Invalid
from lightwell.domain.ids import SessionId
from lightwell.domain.texts import require_text

LONGEST_QUESTION = 2000


class Channel(StrEnum):
    """Where a candidate passage came from.

    By meaning and by words; from entities and from relations, by name or by what is said of them; from chunks that
    share rare entities with the best so far; along confirmed links of what the question names.
    """

    DENSE = "dense"
    WORDS = "words"
    ENTITIES = "entities"
    RELATIONS = "relations"
    NEIGHBOURS = "neighbours"
    LINKS = "links"


PASSAGE_CHANNELS = frozenset({Channel.DENSE, Channel.WORDS})
GRAPH_CHANNELS = frozenset(Channel) - PASSAGE_CHANNELS
_AROUND_ENTITIES = frozenset({Channel.ENTITIES, Channel.NEIGHBOURS, Channel.LINKS})


class Mode(StrEnum):
    """LightRAG's words for where to look.

    `naive` passages only · `local` from entities · `global` from relations · `hybrid` from both · `mix` everywhere ·
    `bypass` nowhere: the model is asked without evidence, and its answer says so.
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
    """S3's words for the same, as `rag_queries.strategy_used` has them."""

    VECTOR_ONLY = "vector_only"
    GRAPH_ONLY = "graph_only"
    HYBRID = "hybrid"


class Fusion(StrEnum):
    """How the channels become one order: by learned weights, or by S3's reciprocal ranks."""

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
class Question:
    """A validated question; `topic` filters by topic tag, "" for all; `limit` is S3's topK.

    `without` names channels that are left out, to measure what each brings.
    """

    text: str
    topic: str = ""
    limit: int = 5
    mode: Mode = Mode.MIX
    without: frozenset[Channel] = frozenset()

    @property
    def channels(self) -> frozenset[Channel]:
        return self.mode.channels - self.without

    @property
    def strategy(self) -> Strategy:
        """Return where it looks, in S3's words: without the graph's channels in passages only."""
        return self.mode.strategy if self.channels & GRAPH_CHANNELS else Strategy.VECTOR_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """S3's QueryRequest: `session_id` is an open session of the asking user's, that the query belongs to."""

    query: str
    session_id: SessionId | None = None
    top_k: int = 5
    include_graph: bool = True
    topic_filter: str = ""
    mode: Mode = Mode.MIX

    def question(self) -> Question:
        """Return the question; raise `Invalid` with S3's message, or when nowhere is left to look."""
        without = frozenset[Channel]() if self.include_graph else GRAPH_CHANNELS
        asked = make_question(
            self.query,
            topic=self.topic_filter,
            limit=self.top_k,
            mode=self.mode,
            without=without,
        )
        if self.mode is not Mode.BYPASS and not asked.channels:
            raise Invalid(
                f"Mode {self.mode.value} looks in the graph only: leave includeGraph true, or use mode naive or mix"
            )
        return asked


def make_question(
    text: str,
    *,
    topic: str = "",
    limit: int = 5,
    mode: Mode = Mode.MIX,
    without: frozenset[Channel] = frozenset(),
) -> Question:
    """Return a question, or raise `Invalid` with S3's message."""
    if not text.strip():
        raise Invalid("Query cannot be empty")
    if len(text) > LONGEST_QUESTION:
        raise Invalid("Query exceeds maximum length")
    if not 1 <= limit <= 20:
        raise Invalid("topK must be between 1 and 20")
    if len(topic) > 256:
        raise Invalid("A topic has at most 256 characters")
    return Question(
        text=require_text(text, "The question").strip(),
        topic=require_text(topic, "The topic"),
        limit=limit,
        mode=mode,
        without=without,
    )


def require_retrieval_mode(question: Question) -> Question:
    """Return the question; raise `Invalid` when its mode looks nowhere."""
    if question.mode is Mode.BYPASS:
        raise Invalid(
            "Mode bypass looks nowhere, so it finds nothing: only an answer and a chat may ask the model alone"
        )
    return question


def parse_mode(word: str) -> Mode:
    """Return the mode of this name; raise `Invalid` naming those there are."""
    try:
        return Mode(word.strip().casefold())
    except ValueError:
        known = ", ".join(mode.value for mode in Mode)
        raise Invalid(f"There is no mode {word!r}; the modes are {known}") from None
