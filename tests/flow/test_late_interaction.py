"""Chunks are encoded for late interaction when they are ingested, and questions find the passage that answers by it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import ModelFailed
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import EncodedSpan, HeadedPassage, TextMatch, WindowMatch
from lightwell.ingest.context import IngestContext
from lightwell.ingest.passage_reading import read_some
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.late_interaction import LocalLateInteraction
from lightwell.records import multi_vectors
from lightwell.records.database import Database
from lightwell.retrieve import ranking
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever

from .conftest import project_on

OWN, OTHERS = ["team:a"], ["team:b"]
LEAVE = "Everybody has 25 days of annual leave a year, which the payroll system shows."
POLICY = "Travel is booked by the assistants. Trains come before planes. Receipts go to finance. "
GERMAN = "Alle Mitarbeiterinnen und Mitarbeiter haben im Jahr Anspruch auf fünfundzwanzig Tage Urlaub, den sie beantragen müssen."


@dataclass(frozen=True)
class Recording:
    """The bundled model, which records the texts that it encodes, and fails while `failing` has an element.

    Before it encodes, it waits for what is done `meanwhile`.
    """

    inner: LocalLateInteraction
    model: str = "recorded-1"
    space: str = "none"
    texts: list[str] = field(default_factory=list[str])
    failing: list[str] = field(default_factory=list[str])
    meanwhile: list[Callable[[], Awaitable[None]]] = field(
        default_factory=list[Callable[[], Awaitable[None]]]
    )

    async def encode(self, passages: Sequence[HeadedPassage]) -> list[MultiVector]:
        if self.failing:
            raise ModelFailed("the model is down")
        for each in self.meanwhile:
            await each()
        self.texts.extend(each.text for each in passages)
        return await self.inner.encode(passages)

    async def match(
        self, question: str, vectors: Sequence[MultiVector]
    ) -> list[tuple[WindowMatch, ...]]:
        return await self.inner.match(question, vectors)

    async def compare(
        self, question: str, texts: Sequence[Sequence[EncodedSpan]]
    ) -> list[TextMatch]:
        return await self.inner.compare(question, texts)


@dataclass(frozen=True, kw_only=True)
class Encoded:
    kb: KnowledgeBase
    context: IngestContext
    model: Recording
    database: Database

    async def ingest(self, *documents: NewDocument) -> None:
        await self.kb.ingestion.ingest(InMemorySource(documents=documents))

    async def count(self, table: str = "chunk_multi_vectors") -> int:
        [(count,)] = await self.database.rows(f"SELECT count(*) FROM {table}", {})  # type: ignore[arg-type]
        return count


async def encoded_on(database: Database, model: Recording | None, name: str = "project") -> Encoded:
    project = await project_on(database, name)
    context = replace(project.context, late_interaction=model)
    kb = KnowledgeBase(context, make_retriever(context), AnswerGenerator(model=None))
    return Encoded(kb=kb, context=context, model=model or recording(), database=database)


def recording() -> Recording:
    return Recording(LocalLateInteraction(threads=1))


@pytest.fixture
async def encoded(database: Database) -> Encoded:
    return await encoded_on(database, recording())


async def test_the_passage_whose_window_answers_comes_first(
    encoded: Encoded, database: Database
) -> None:
    """The other document has the same words, but not side by side."""
    said = LEAVE.split()
    await encoded.ingest(
        make_document("a.md", " ".join(f"{word} {POLICY}" for word in said), OWN),
        make_document("b.md", f"{POLICY * 7}\n\n{LEAVE}\n\n{POLICY * (len(said) - 7)}", OWN),
        make_document(
            "c.md", f"Lunch is at noon. The soup has a name of its own in every year. {POLICY}", OWN
        ),
    )
    question = "how many days of leave does everybody have in a year"
    without = await encoded_on(database, None)
    before = await without.kb.questions.search(question, await without.kb.reader(OWN))
    assert [each.chunk.title for each in before.evidence][:2] == ["a", "b"]
    found = await encoded.kb.questions.search(question, await encoded.kb.reader(OWN))
    assert [each.chunk.title for each in found.evidence][:2] == ["b", "a"]
    first = found.evidence[0]
    best = max(first.windows, key=lambda each: each.token_match)
    assert LEAVE in first.chunk.text[best.start : best.end]


async def test_a_passage_that_is_found_without_having_been_compared_is_judged_by_its_windows_too(
    encoded: Encoded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "MATCHED", 1)
    await encoded.ingest(
        *(make_document(f"{n}.md", f"{LEAVE} {'x' * n}", OWN) for n in range(1, 4))
    )
    found = await encoded.kb.questions.search("annual leave", await encoded.kb.reader(OWN))
    assert len(found.evidence) == 3
    assert all(each.windows for each in found.evidence)


async def test_a_match_that_cannot_be_compared_with_another_changes_no_score(
    encoded: Encoded, database: Database
) -> None:
    await encoded.ingest(
        *(make_document(f"{n}.md", f"{LEAVE} {POLICY * n}", OWN) for n in range(3))
    )
    left = "SELECT chunk_id FROM chunk_multi_vectors LIMIT 1"
    await database.execute(
        f"DELETE FROM chunk_multi_vectors WHERE chunk_id NOT IN ({left})",  # type: ignore[arg-type]
        {},
    )
    assert await encoded.count() == 1
    without = await encoded_on(database, None)
    question, reader = "annual leave", await encoded.kb.reader(OWN)
    plain = await without.kb.questions.search(question, reader)
    found = await encoded.kb.questions.search(question, reader)
    assert [each.score for each in found.evidence] == [each.score for each in plain.evidence]


async def test_an_equal_text_is_encoded_once_and_copied_later(encoded: Encoded) -> None:
    await encoded.ingest(*(make_document(f"{n}.md", f"# Leave\n\n{LEAVE}", OWN) for n in range(3)))
    assert encoded.model.texts == [f"# Leave\n\n{LEAVE}"]
    documents = [make_document(f"{n}.md", f"# Leave\n\n{LEAVE}", OWN) for n in range(5)]
    await encoded.ingest(*documents)
    assert encoded.model.texts == [f"# Leave\n\n{LEAVE}"]
    assert await encoded.count() == 5
    assert await encoded.count("multi_vector_gaps") == 0


async def test_whether_others_have_a_text_does_not_show_in_what_is_encoded(
    encoded: Encoded,
) -> None:
    hidden = make_document("a.md", f"# Leave\n\n{LEAVE}", OTHERS)
    await encoded.ingest(hidden)
    guess = make_document("b.md", f"# Leave\n\n{LEAVE}", OWN)
    await encoded.ingest(hidden, guess)
    assert encoded.model.texts == 2 * [f"# Leave\n\n{LEAVE}"]


async def test_texts_that_are_embedded_alike_under_other_heads_are_encoded_apart(
    encoded: Encoded,
) -> None:
    hidden = make_document("a.md", LEAVE, OTHERS, title="Leave")
    await encoded.ingest(hidden)
    own = make_document("b.md", f"Leave\n{LEAVE}", OWN, title="Leave")
    await encoded.ingest(hidden, own)
    assert encoded.model.texts == [LEAVE, f"Leave\n{LEAVE}"]
    [entry] = (
        await encoded.kb.questions.search("annual leave", await encoded.kb.reader(OWN))
    ).evidence
    assert [(each.start, each.end) for each in entry.windows] == [(0, len(entry.chunk.text))]


async def test_a_question_in_another_language_is_not_compared(encoded: Encoded) -> None:
    await encoded.ingest(
        make_document("urlaub.md", GERMAN, OWN), make_document("leave.md", LEAVE, OWN)
    )
    found = await encoded.kb.questions.search(
        "Wie viele Tage Urlaub bekommen Mitarbeiter?", await encoded.kb.reader(OWN)
    )
    assert len(found.evidence) == 2
    assert all(each.windows == () for each in found.evidence)


async def test_vectors_go_with_their_chunk(encoded: Encoded) -> None:
    await encoded.ingest(make_document("leave.md", LEAVE, OWN))
    await encoded.ingest(make_document("leave.md", "Trains come before planes.", OWN))
    assert await encoded.count() == 1
    await encoded.ingest()
    assert await encoded.count() == 0


async def test_text_in_another_language_is_not_encoded_and_is_found(encoded: Encoded) -> None:
    await encoded.ingest(
        make_document("urlaub.md", GERMAN, OWN), make_document("leave.md", LEAVE, OWN)
    )
    assert encoded.model.texts == [LEAVE]
    found = await encoded.kb.questions.search("annual Urlaub", await encoded.kb.reader(OWN))
    assert {each.chunk.text: bool(each.windows) for each in found.evidence} == {
        GERMAN: False,
        LEAVE: True,
    }
    assert await encoded.count("multi_vector_gaps") == 0


async def test_what_could_not_be_encoded_is_published_and_encoded_later(encoded: Encoded) -> None:
    encoded.model.failing.append("down")
    leave, trains = make_document("leave.md", LEAVE, OWN), make_document("t.md", POLICY, OWN)
    await encoded.ingest(leave)
    reader = await encoded.kb.reader(OWN)
    [entry] = (await encoded.kb.questions.search("annual leave", reader)).evidence
    assert entry.windows == ()
    assert await encoded.count("multi_vector_gaps") == 1
    encoded.model.failing.clear()
    await encoded.ingest(leave, trains)
    assert sorted(encoded.model.texts) == sorted([LEAVE, POLICY.strip()])
    assert await encoded.count("multi_vector_gaps") == 0
    found = await encoded.kb.questions.search("annual leave", reader)
    assert all(each.windows for each in found.evidence)


async def test_what_a_process_without_the_model_published_is_encoded_by_one_with_it(
    database: Database,
) -> None:
    leave = make_document("leave.md", LEAVE, OWN)
    without = await encoded_on(database, None)
    await without.ingest(leave)
    assert (await without.count(), await without.count("multi_vector_gaps")) == (0, 1)
    having = await encoded_on(database, recording())
    await having.ingest(leave)
    assert (await having.count(), await having.count("multi_vector_gaps")) == (1, 0)


async def test_what_is_deleted_while_it_is_encoded_leaves_nothing(database: Database) -> None:
    without = await encoded_on(database, None)
    await without.ingest(make_document("leave.md", LEAVE, OWN), make_document("t.md", POLICY, OWN))
    having = await encoded_on(database, recording())
    having.model.meanwhile.append(lambda: without.ingest(make_document("t.md", POLICY, OWN)))
    assert await read_some(having.context)
    assert sorted(having.model.texts) == sorted([LEAVE, POLICY.strip()])
    assert (await having.count(), await having.count("multi_vector_gaps")) == (1, 0)
    assert not await read_some(having.context)


async def test_a_model_that_fails_ends_the_filling_of_gaps(database: Database) -> None:
    await (await encoded_on(database, None)).ingest(make_document("leave.md", LEAVE, OWN))
    having = await encoded_on(database, recording())
    having.model.failing.append("down")
    assert not await read_some(having.context)
    assert await having.count("multi_vector_gaps") == 1


async def test_vectors_of_another_model_are_not_compared(
    encoded: Encoded, database: Database
) -> None:
    await encoded.ingest(make_document("leave.md", LEAVE, OWN))
    other = await encoded_on(database, replace(encoded.model, model="recorded-2"))
    [entry] = (await other.kb.questions.search("annual leave", await other.kb.reader(OWN))).evidence
    assert entry.windows == ()


@pytest.mark.parametrize(
    "damage",
    [
        "codes = codes || 'x'",
        "codes = substring(codes for length(codes) / 2)",
        "codes = ''",
        "wholes = substring(wholes for 10)",
        "places = substring(places for 1)",
        "tokens = '{1}'",
        "head = 'abc'",
    ],
)
async def test_damaged_vectors_are_not_compared(encoded: Encoded, damage: str) -> None:
    await encoded.ingest(make_document("a.md", LEAVE, OWN), make_document("b.md", POLICY, OWN))
    reader, question = await encoded.kb.reader(OWN), "how many days of leave in a year"
    whole = await encoded.kb.questions.search(question, reader)
    await encoded.database.execute(f"UPDATE chunk_multi_vectors SET {damage}", {})  # type: ignore[arg-type]
    found = await encoded.kb.questions.search(question, reader)
    await encoded.database.execute("DELETE FROM chunk_multi_vectors", {})
    without = await encoded.kb.questions.search(question, reader)
    assert found.evidence == without.evidence != whole.evidence


async def test_only_the_vectors_of_chunks_that_the_reader_sees_are_read(
    encoded: Encoded, database: Database
) -> None:
    await encoded.ingest(
        make_document("leave.md", LEAVE, OWN),
        make_document("secret.md", f"Secret. {LEAVE}", OTHERS),
    )
    own, others = await encoded.kb.reader(OWN), await encoded.kb.reader(OTHERS)
    chunks = {
        each.chunk.title: each.chunk.id
        for reader in (own, others)
        for each in (await encoded.kb.questions.search("annual leave", reader)).evidence
    }
    assert len(chunks) == 2
    for reader, title in ((own, "leave"), (others, "secret")):
        held = await multi_vectors.get_multi_vectors(
            database, reader, encoded.model.model, list(chunks.values())
        )
        assert set(held) == {chunks[title]}
