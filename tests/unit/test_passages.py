"""Neighbouring chunks that both rank high are one passage."""

from dataclasses import replace
from datetime import UTC, datetime

from lightwell.domain.documents import Chunk, Layout, Locator, Page, Section
from lightwell.domain.ids import ChunkId, DocumentId, GlobalRef, new_id
from lightwell.domain.reranking import WindowMatch
from lightwell.retrieve.late_interaction import ChunkMatch
from lightwell.retrieve.passages import (
    MAX_TOKENS,
    Passage,
    encoded_chunks,
    group_chunks,
    join_passage,
    windows_of,
)
from tests.scripted_late_interaction import in_one_window, read_spans

TEXT = "One speaks of wells.\n\nTwo speaks of light.\n\nThree speaks of neither."
MOMENT = datetime(2026, 11, 1, tzinfo=UTC)
DOCUMENT, OTHER = DocumentId(new_id()), DocumentId(new_id())


def chunk(index: int, document: DocumentId = DOCUMENT, *, tokens: int = 100) -> Chunk:
    start = [0, 22, 44][index]
    end = [20, 42, len(TEXT)][index]
    return Chunk(
        id=ChunkId(new_id()),
        document_id=document,
        document_ref=GlobalRef("file:document:a"),
        index=index,
        text=TEXT[start:end],
        tokens=tokens,
        title="Wells",
        url="file:///wells.md",
        system="file",
        kind="document",
        topic="",
        language="en",
        locator=Locator(page=index + 1, last_page=index + 1, section=(), start=start, end=end),
        layout=Layout(
            sections=(Section(path=(f"S{index}",), start=start, end=end),),
            pages=(Page(number=index + 1, start=start, end=end),),
        ),
        created_at=MOMENT,
        updated_at=MOMENT,
    )


def group(*ranked: Chunk, limit: int = 5) -> list[Passage]:
    return group_chunks(
        [each.id for each in ranked], {each.id: each for each in ranked}, limit=limit
    )


def test_neighbours_are_one_passage_in_the_order_of_the_document() -> None:
    second, first, far = chunk(1), chunk(0), chunk(2, OTHER)
    passages = group(second, far, first)
    assert [each.members for each in passages] == [(first, second), (far,)]
    assert passages[0].best == second.id


def test_a_gap_and_another_document_keep_passages_apart() -> None:
    assert len(group(chunk(0), chunk(2))) == 2
    assert len(group(chunk(0), chunk(1, OTHER))) == 2


def test_a_passage_grows_no_larger_than_the_largest_chunk() -> None:
    assert len(group(chunk(0, tokens=MAX_TOKENS - 100), chunk(1, tokens=101))) == 2
    assert len(group(chunk(0, tokens=MAX_TOKENS - 100), chunk(1, tokens=100))) == 1


def test_a_neighbour_joins_although_the_passages_are_counted_out() -> None:
    first, second, other = chunk(0), chunk(1), chunk(2, OTHER)
    assert [each.members for each in group(first, second, other, limit=1)] == [(first, second)]


def test_a_joined_passage_is_the_documents_published_text_and_knows_its_places() -> None:
    first, second = chunk(0), chunk(1)
    [passage] = group(second, first)
    whole = join_passage(passage)
    assert whole.text == "One speaks of wells.\n\nTwo speaks of light."
    assert whole.text[second.locator.start :] == second.text
    assert whole.id == second.id
    assert passage.members == (first, second)
    assert whole.layout.locate(25, 30).page == 2
    assert whole.layout.locate(25, 30).section == ("S1",)
    assert (whole.locator.start, whole.locator.end) == (0, 42)


def test_windows_keep_their_words_in_the_joined_text() -> None:
    members = [chunk(0), chunk(1), chunk(2)]
    [passage] = group(*members)
    matches = {
        each.id: ChunkMatch(
            windows=(
                WindowMatch(start=2, end=len(each.text), similarity=0.1, token_match=each.index),
            ),
            vectors=in_one_window(each.text),
        )
        for each in (members[0], members[2])
    }
    windows = windows_of(passage, matches)
    assert [each.token_match for each in windows] == [0, 2]
    text = join_passage(passage).text
    assert [text[each.start : each.end] for each in windows] == [
        members[0].text[2:],
        members[2].text[2:],
    ]


def test_vectors_keep_their_places_in_the_joined_text() -> None:
    members = [chunk(0), chunk(1), chunk(2)]
    [passage] = group(*members)
    matches = {
        each.id: ChunkMatch(windows=(), vectors=in_one_window(each.text))
        for each in (members[0], members[2])
    }
    text = join_passage(passage).text
    start = text.index("Three")
    spans = [each.span(start, start + 5) for each in encoded_chunks(passage, matches)]
    assert [read_spans([each]) for each in spans] == ["", "Three"]


def test_chunks_of_two_versions_of_a_document_stay_apart() -> None:
    first, second = chunk(0), replace(chunk(1), ingested_at=MOMENT)
    assert [each.members for each in group(second, first)] == [(second,), (first,)]


def test_a_single_chunk_is_its_own_passage() -> None:
    only = chunk(0)
    assert join_passage(group(only)[0]) == only
