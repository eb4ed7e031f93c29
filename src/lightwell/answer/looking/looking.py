"""Looking twice: a chat model says what to look at next, before it answers from all that it read.

passages of the question ─► an action of the model ─► a read as the reader ─► its passages are shown, too ─┐
             ▲                                                                                             │
             └────────── until the model ends it, or a budget of steps, tokens or seconds ends ◄───────────┘
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

from lightwell.answer.looking.actions import ACTION_SCHEMA, Action, ActionKind, parse_action
from lightwell.answer.looking.library import Found, Library
from lightwell.answer.prompt import Prompt, relation_line
from lightwell.domain.answers import Step, StepKind
from lightwell.domain.errors import ModelFailed
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.graph import Relation
from lightwell.domain.prompt_fencing import fence, neutralize_chat_marks
from lightwell.logs import logger
from lightwell.ports import ChatModel, Message
from lightwell.text.tokens import token_count

MAX_STEPS = 5
MAX_ACTION_TOKENS = 200
LONGEST_EXCERPT = 700
"""Characters of a passage that are shown while the model looks; the answer is made of all of it."""

NOT_UNDERSTOOD = "The model did not say what to look at next."
_INSTEAD = "The answer is from what was read until then."

_log = logger(__name__)


async def look(
    model: ChatModel, library: Library, retrieval: Retrieval, *, max_tokens: int
) -> AsyncGenerator[Step | Retrieval, None]:
    """Yield what the model looks at, and at the end the retrieval with all that it read, as evidence of the same question.

    No prompt has more than `max_tokens`. Where the model fails or writes nonsense, a note says so, and what was read until then
    stays; without anything read that is the retrieval alone, as for a question that is asked without looking twice.
    """
    reading = Reading.begin(retrieval)
    done: set[Action] = set()
    note = ""
    while len(done) < MAX_STEPS and reading.tokens <= max_tokens:
        try:
            reply = await model.reply(
                reading.messages, max_tokens=MAX_ACTION_TOKENS, schema=ACTION_SCHEMA
            )
            action = parse_action(reply.text)
            if action is None:
                note = f"{NOT_UNDERSTOOD} {_INSTEAD}"
                break
            if action.kind is ActionKind.ANSWER or action in done:
                break
            done.add(action)
            yield reading.step(action)
            result = await library.find(action, reading.passages)
        except ModelFailed as error:
            note = f"{str(error).rstrip('.')}. {_INSTEAD}"
            break
        new = reading.add(reply.text, result, left=MAX_STEPS - len(done))
        if new:
            yield Step(kind=StepKind.READING, titles=titles(new))
    _log.info("looked twice", steps=len(done), passages=len(reading.passages), failed=bool(note))
    yield reading.finish(note)


def titles(passages: Iterable[Evidence]) -> tuple[str, ...]:
    """Return the titles of the passages' documents, each once."""
    return tuple(dict.fromkeys(entry.chunk.title for entry in passages if entry.chunk.title))


@dataclass(slots=True, kw_only=True)
class Reading:
    """What a model has read so far: `passages` are numbered from 1 as `messages` show them, and no number changes."""

    retrieval: Retrieval
    messages: list[Message]
    passages: list[Evidence] = field(default_factory=list[Evidence])
    tokens: int = 0
    _more: list[Sequence[Evidence]] = field(default_factory=list[Sequence[Evidence]])
    _relations: dict[object, Relation] = field(default_factory=dict[object, Relation])

    @classmethod
    def begin(cls, retrieval: Retrieval) -> "Reading":
        """Return the beginning: the rules, the passages of the question, and the question."""
        passages = list(retrieval.evidence)
        question = neutralize_chat_marks(retrieval.question.as_read)
        sent = "\n\n".join((_shown(passages, first=1), _left(MAX_STEPS), f"Question: {question}"))
        messages = [
            Message(role="system", content=Prompt.LOOK.text),
            Message(role="user", content=sent),
        ]
        tokens = sum(token_count(message.content) for message in messages)
        return cls(retrieval=retrieval, messages=messages, passages=passages, tokens=tokens)

    def step(self, action: Action) -> Step:
        """Return what is done now, as it is shown to people."""
        is_there = 0 < action.passage <= len(self.passages)
        about = titles([self.passages[action.passage - 1]]) if is_there else ()
        if action.kind is ActionKind.OPEN:
            return Step(kind=StepKind.READING, titles=about)
        in_document = about if action.kind is ActionKind.FIND else ()
        return Step(kind=StepKind.SEARCHING, query=action.query, titles=in_document)

    def add(self, reply: str, result: Found, *, left: int) -> list[Evidence]:
        """Add what the action of a reply has found, and return the passages of which something new is shown."""
        seen = set(map(_excerpt, self.passages))
        new = [entry for entry in result.passages if _excerpt(entry) not in seen]
        stated = "\n".join(map(relation_line, result.relations))
        parts = [_shown(new, first=len(self.passages) + 1)] if new or not stated else []
        sent = "\n\n".join((*([fence(stated)] if stated else []), *parts, _left(left)))
        self.messages += [
            Message(role="assistant", content=neutralize_chat_marks(reply)),
            Message(role="user", content=sent),
        ]
        self.tokens += token_count(reply) + token_count(sent)
        self.passages += new
        self._more.append(result.passages)
        self._relations.update((relation.id, relation) for relation in result.relations)
        return new

    def finish(self, note: str) -> Retrieval:
        """Return the retrieval with all that was read, the best of each action in turn; a passage of which two parts were shown is there twice."""
        first = self.retrieval
        notes = (*first.notes, note) if note else first.notes
        if not any(self._more) and not self._relations:
            return replace(first, notes=notes)
        turns = chain.from_iterable(zip_longest(first.evidence, *self._more))
        evidence = tuple({_excerpt(entry): entry for entry in turns if entry}.values())
        relations = {relation.id: relation for relation in first.relations}
        return replace(
            first,
            evidence=evidence,
            best_relevance=max((entry.relevance for entry in evidence), default=0.0),
            relations=tuple((self._relations | relations).values()),
            notes=notes,
            at_first=replace(first, notes=notes),
        )


def _shown(passages: Sequence[Evidence], *, first: int) -> str:
    """Return passages as the model is shown them, with their numbers."""
    if not passages:
        return "Nothing new is found."
    return "\n\n".join(
        f"[{number}]\n{fence(_excerpt(entry))}" for number, entry in enumerate(passages, first)
    )


def _excerpt(entry: Evidence) -> str:
    """Return where a passage is from, and its text around its best unit."""
    chunk, text = entry.chunk, entry.chunk.text
    dated = f", {chunk.dated_at.date().isoformat()}" if chunk.dated_at else ""
    place = " ".join(chunk.heading_path.split())[:LONGEST_EXCERPT]
    head = f"{place}\n({chunk.system}, {chunk.kind}{dated})"
    if len(text) > LONGEST_EXCERPT:
        best = entry.highlights[0].start if entry.highlights else 0
        start = max(0, min(best - LONGEST_EXCERPT // 4, len(text) - LONGEST_EXCERPT))
        text = f"… {text[start : start + LONGEST_EXCERPT]} …"
    return f"{head}\n\n{text}"


def _left(steps: int) -> str:
    return f"Steps that are left: {steps}"
