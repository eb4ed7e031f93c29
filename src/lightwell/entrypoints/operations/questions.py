"""Questions: answers with citations, and statements of the documents."""

from datetime import date
from typing import Annotated
from uuid import UUID

from pydantic import AliasChoices, Field

from lightwell.domain.answers import AnswerState, Confidence, StepKind, StreamType
from lightwell.domain.ids import SessionId
from lightwell.domain.questions import (
    MAX_QUESTION_LENGTH,
    SUFFICIENT_RELEVANCE,
    Filters,
    Mode,
    Question,
)
from lightwell.entrypoints.operations.citations import AmbiguousName, Citation, Highlight, Usage
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import (
    Moment,
    Reply,
    Rounded,
    Schema,
    Values,
    read_from,
)

questions = Subject(prefix="/v1", tag="questions")

# The limits are declared, and checked by the domain: its messages are those of the specification.
QuestionText = Annotated[
    str,
    Field(
        json_schema_extra={"minLength": 1, "maxLength": MAX_QUESTION_LENGTH},
        examples=["What discount does Nordwind Energie receive?"],
    ),
]
TopK = Annotated[
    int,
    Field(
        description="How many passages, at most.", json_schema_extra={"minimum": 1, "maximum": 20}
    ),
]
Topic = Annotated[
    str,
    Field(description="Only documents with this topic tag.", json_schema_extra={"maxLength": 256}),
]


class DocumentFilters(Schema):
    """Of which documents a question is asked, beside the topic: what is left out is any. Of several values, one must match."""

    source: Annotated[Values, Field(description="Documents of the sources with these names.")] = ()
    system: Annotated[
        Values, Field(description="Documents of these systems: `file`, `linear`.")
    ] = ()
    type: Annotated[
        Values, Field(description="Documents of these types: `document`, `issue`.")
    ] = ()
    author: Annotated[
        Values, Field(description="Documents by these people; a part of the name suffices: `Ada`.")
    ] = ()
    tag: Annotated[
        Values, Field(description="Of the documents that you see, those with these access tags.")
    ] = ()
    metadata: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="Documents whose metadata have all these values.",
        json_schema_extra={"maxProperties": 10},
    )
    since: Annotated[
        date | None,
        Field(
            description="Documents that are dated on this day or later; an item's date is its last change."
        ),
    ] = None
    until: Annotated[
        date | None, Field(description="Documents that are dated on this day or earlier.")
    ] = None
    from_words: Annotated[
        bool,
        Field(description="Whether words of the question, such as `last month`, filter, too."),
    ] = True

    def with_topic(self, topic: str) -> Filters:
        """Return them together with the topic; raise `Invalid`."""
        return Filters(
            topic=topic,
            sources=self.source,
            systems=self.system,
            kinds=self.type,
            authors=self.author,
            tags=self.tag,
            metadata=tuple(self.metadata.items()),
            since=self.since,
            until=self.until,
            from_words=self.from_words,
        )

    @classmethod
    def of(cls, filters: Filters) -> "DocumentFilters":
        """Return these without the topic."""
        return cls(
            source=filters.sources,
            system=filters.systems,
            type=filters.kinds,
            author=filters.authors,
            tag=filters.tags,
            metadata=dict(filters.metadata),
            since=filters.since,
            until=filters.until,
            from_words=filters.from_words,
        )


ANY_DOCUMENT = DocumentFilters()

SearchMode = Annotated[Mode, Field(description="Where evidence is looked for.")]
LookTwice = Annotated[
    bool,
    Field(
        description="Whether the chat model may search again, open documents and follow names before it answers; refused without one."
    ),
]


WithUnsupported = Annotated[
    bool,
    Field(
        description="Whether `unsupported` has the sentences of a chat model that no quote of a document supports."
    ),
]
Unsupported = Annotated[
    list[str],
    Field(
        description="What a chat model said that no quote supports; only where it was asked for."
    ),
]


class AnswerMetadata(Reply):
    """Figures of one answer."""

    query_id: UUID
    total_tokens: int
    citation_count: int
    confidence: Confidence
    vector_result_count: int
    graph_result_count: int
    latency_ms: int


class Sentence(Reply):
    """A sentence without its marks, from `start` to `end` of the answer's text, and the ids of its citations."""

    text: Annotated[
        str, Field(examples=["Nordwind receives a discount of 18 percent on all items."])
    ]
    start: int
    end: int
    citations: Annotated[list[str], Field(examples=[["[1]"]])]


State = Annotated[
    AnswerState,
    Field(
        description="What became of the question: an answer of low confidence is `possibly`, the reply to a greeting `courtesy`."
    ),
]


class Piece(Reply):
    """What a document says around a sentence of the answer, which is `text[start:end]` for its `highlight`, and the ids of its citations."""

    text: str
    highlight: Highlight
    citations: Annotated[list[str], Field(examples=[["[1]"]])]


Context = Annotated[
    list[Piece],
    Field(description="The pieces of documents that sentences of the answer are parts of."),
]
Threshold = Annotated[
    float, Field(description="The relevance below which the evidence is insufficient.")
]

MissingWords = Annotated[
    list[str],
    Field(
        description="Words of a question without an answer that none of the nearest passages has."
    ),
]


class UnderstoodFilter(Reply):
    """A filter that `words` of the question mean: `value` is one of the `field` of `filters`. A request without it names the others, with `fromWords` false."""

    field: Annotated[str, Field(examples=["system"])]
    value: Annotated[str, Field(examples=["linear"])]
    words: Annotated[str, Field(examples=["in Linear"])]


class Answer(Reply):
    """An answer: the specification's QueryResponse. Insufficient evidence is an answer, too: then `nearest` has what came closest."""

    query_id: UUID
    query: Annotated[str, read_from("query", "question")]
    answer: Annotated[str, read_from("answer", "text")]
    state: State
    confidence: Confidence
    relevance: Rounded
    threshold: Threshold = SUFFICIENT_RELEVANCE
    # The domain's own sentences have that name, too.
    sentences: Annotated[
        list[Sentence], Field(validation_alias=AliasChoices("placed_sentences", "sentences"))
    ]
    context: Context
    model: str
    citations: list[Citation]
    nearest: list[Citation]
    missing_words: MissingWords
    notes: list[str]
    unsupported: Unsupported
    ambiguous_names: list[AmbiguousName]
    filters: list[UnderstoodFilter]
    metadata: AnswerMetadata
    usage: Usage


def _is_empty(value: object) -> bool:
    return not value


def _is_none(value: object) -> bool:
    return value is None


class StreamStep(Reply):
    """What is done before the first sentence: `titles` of the documents that are read, `count` of the passages that are checked.

    `query` is what a model searches for that looks twice, in `titles` where it searches a document.
    """

    kind: StepKind
    query: str
    titles: list[str]
    count: int


class StreamEvent(Reply):
    """A piece of an answer: the specification's StreamChunk.

    `content` and `sentence` belong to `token`, `citation` and `metadata` to the events of these names, `error` to
    `error`, `step` to `step`; the others to `done`, `conversationId` and `place` in a conversation. A token that is a sentence says where it stands, and one with a `state` says it of what follows.
    """

    type: StreamType
    step: Annotated[StreamStep | None, Field(exclude_if=_is_empty)] = None
    content: Annotated[str, Field(exclude_if=_is_empty)] = ""
    sentence: Annotated[
        Sentence | None,
        Field(validation_alias=AliasChoices("placed", "sentence")),
        Field(exclude_if=_is_empty),
    ] = None
    citation: Annotated[Citation | None, Field(exclude_if=_is_empty)] = None
    metadata: Annotated[AnswerMetadata | None, Field(exclude_if=_is_empty)] = None
    error: Annotated[str, Field(exclude_if=_is_empty)] = ""
    state: Annotated[
        AnswerState | None, read_from("state", "answer.state"), Field(exclude_if=_is_none)
    ] = None
    confidence: Annotated[Confidence | None, read_from("confidence", "answer.confidence")] = None
    relevance: Annotated[Rounded | None, read_from("relevance", "answer.relevance")] = None
    threshold: Annotated[float | None, read_from("threshold", "answer.threshold")] = None
    sentences: Annotated[
        tuple[Sentence, ...], read_from("sentences", "answer.placed_sentences")
    ] = ()
    context: Annotated[tuple[Piece, ...], read_from("context", "answer.context")] = ()
    nearest: Annotated[tuple[Citation, ...], read_from("nearest", "answer.nearest")] = ()
    missing_words: Annotated[
        tuple[str, ...], read_from("missingWords", "answer.missing_words")
    ] = ()
    model: Annotated[str, read_from("model", "answer.model"), Field(exclude_if=_is_empty)] = ""
    notes: Annotated[tuple[str, ...], read_from("notes", "answer.notes")] = ()
    unsupported: Annotated[
        tuple[str, ...],
        read_from("unsupported", "answer.unsupported"),
        Field(exclude_if=_is_empty),
    ] = ()
    ambiguous_names: Annotated[
        tuple[AmbiguousName, ...], read_from("ambiguousNames", "answer.ambiguous_names")
    ] = ()
    filters: Annotated[tuple[UnderstoodFilter, ...], read_from("filters", "answer.filters")] = ()
    usage: Annotated[Usage | None, read_from("usage", "answer.usage")] = None
    conversation_id: Annotated[
        UUID | None,
        read_from("conversationId", "stored.conversation"),
        Field(exclude_if=_is_none),
    ] = None
    place: Annotated[
        int | None,
        read_from("place", "stored.place"),
        Field(
            exclude_if=_is_none,
            description="The number of the question in its conversation; absent where it is not kept.",
        ),
    ] = None

    @property
    def data(self) -> str:
        """The event as JSON, with the keys that belong to it."""
        return self.model_dump_json(by_alias=True, exclude_unset=True)


class Statement(Reply):
    """What a document states, verbatim or by a model, with its date: `saidAt` of the document, `dates` in the text."""

    text: str
    source_chunk_id: str
    said_at: Moment | None
    dates: list[str]
    citations: list[Citation]


class Latency(Reply):
    latency_ms: int


class Statements(Reply):
    """The statements, the newest first; none where the evidence is insufficient: then `nearest` has what came closest."""

    query_id: UUID
    query: Annotated[str, read_from("query", "question")]
    statements: Annotated[list[Statement], read_from("statements", "sentences")]
    state: State
    confidence: Confidence
    relevance: Rounded
    threshold: Threshold = SUFFICIENT_RELEVANCE
    model: str
    nearest: list[Citation]
    missing_words: MissingWords
    notes: list[str]
    ambiguous_names: list[AmbiguousName]
    filters: list[UnderstoodFilter]
    metadata: Latency
    usage: Usage


@questions.operation("POST", "/query", is_repeatable=True)
async def answer_question(  # noqa: PLR0913 - the fields of the request
    caller: Caller,
    query: QuestionText,
    *,
    session_id: Annotated[
        UUID | None, Field(description="Your open session that the question belongs to.")
    ] = None,
    top_k: TopK = 5,
    include_graph: Annotated[bool, Field(description="Whether the graph is searched, too.")] = True,
    topic_filter: Topic = "",
    filters: DocumentFilters = ANY_DOCUMENT,
    mode: SearchMode = Mode.MIX,
    look_twice: LookTwice = False,
    with_unsupported: WithUnsupported = False,
) -> Answer:
    """Answer a question with citations, or say that the evidence is insufficient."""
    question = asked_question(
        query,
        session_id=session_id,
        top_k=top_k,
        include_graph=include_graph,
        filters=filters.with_topic(topic_filter),
        mode=mode,
        look_twice=look_twice,
        with_unsupported=with_unsupported,
    )
    return caller.reply(Answer, await caller.knowledge_base.questions.ask(question, caller.reader))


def asked_question(  # noqa: PLR0913 - the fields of the request
    query: str,
    *,
    session_id: UUID | None,
    top_k: int,
    include_graph: bool,
    filters: Filters,
    mode: Mode,
    look_twice: bool,
    with_unsupported: bool,
) -> Question:
    """Return the question that a request asks; raise `Invalid`."""
    return Question(
        text=query,
        session_id=SessionId(session_id) if session_id else None,
        limit=top_k,
        include_graph=include_graph,
        filters=filters,
        mode=mode,
        look_twice=look_twice,
        with_unsupported=with_unsupported,
    )


@questions.operation("POST", "/statements", is_repeatable=True)
async def list_statements(
    caller: Caller,
    query: QuestionText,
    *,
    top_k: TopK = 20,
    topic_filter: Topic = "",
    filters: DocumentFilters = ANY_DOCUMENT,
    mode: SearchMode = Mode.MIX,
) -> Statements:
    """List what documents state about a question, each statement with citations and dates, the newest first."""
    answer = await caller.knowledge_base.questions.statements(
        query,
        caller.reader,
        filters=filters.with_topic(topic_filter),
        limit=top_k,
        mode=mode,
    )
    return caller.reply(Statements, answer)


class Suggestion(Reply):
    """A question that a document of this title answers."""

    question: str
    document_title: str


class Suggestions(Reply):
    """Up to three questions, each on another document; none where no document has headings."""

    suggestions: list[Suggestion]


@questions.operation("GET", "/suggestions")
async def suggest_questions(
    caller: Caller,
    language: Annotated[
        str,
        Field(max_length=10, description="Documents in this language (`en`) come first."),
    ] = "",
) -> Suggestions:
    """Suggest questions that documents which you see can answer, made of their titles and headings."""
    suggested = await caller.knowledge_base.questions.suggestions(caller.reader, language)
    return Suggestions(
        suggestions=[Suggestion.model_validate(suggestion) for suggestion in suggested]
    )
