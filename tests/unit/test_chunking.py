import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.documents import ChunkDraft, Format, Page, ParsedDocument
from lightwell.domain.errors import Invalid, Unreadable
from lightwell.ingest.chunking import chunk_hash, split_into_chunks, text_to_embed, validate_chunk
from lightwell.ingest.parse import parse
from lightwell.text.language import detect_language
from lightwell.text.tokens import token_count
from tests.generation import examples

SENTENCE = "The pump in the old harbour runs at five bar and nobody knows why. "


def markdown(text: str) -> ParsedDocument:
    return parse(text.encode(), Format.MARKDOWN, name="a.md")


def words(tokens: int) -> str:
    """Return prose of about so many tokens."""
    return SENTENCE * (tokens // token_count(SENTENCE))


def refuse_loss(document: ParsedDocument, drafts: tuple[ChunkDraft, ...]) -> None:
    at = 0
    for index, draft in enumerate(drafts):
        assert draft.index == index
        assert draft.text == document.text[draft.start : draft.end] == draft.text.strip()
        assert not document.text[at : draft.start].strip()
        assert draft.tokens == token_count(draft.text) <= 2000
        assert len(drafts) == 1 or draft.tokens >= 100
        at = draft.end
    assert not document.text[at:].strip()


blocks = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    st.integers(1, 60).map(lambda times: SENTENCE * times),
    st.integers(1, 200).map(lambda lines: "```\n" + "x = f(y)\n\n" * lines + "```"),
    st.integers(1, 120).map(lambda rows: "| a | b |\n|---|---|\n" + "| 1 | some words |\n" * rows),
    st.tuples(st.integers(1, 4), st.text("abc ", min_size=1, max_size=9)).map(
        lambda drawn: "#" * drawn[0] + " " + drawn[1]
    ),
    st.tuples(st.sampled_from("漢😀aß \t"), st.integers(1, 3000)).map(
        lambda drawn: drawn[0] * drawn[1]
    ),
)


@examples(60)
@given(st.lists(blocks, min_size=1, max_size=12).map("\n\n".join), st.sampled_from(Format))
def test_chunks_hold_all_of_the_text_in_order_within_their_sizes(text: str, form: Format) -> None:
    if form in (Format.PDF, Format.DOCX):
        form = Format.TEXT
    try:
        document = parse(text.encode(), form, name="a")
    except Unreadable:
        return
    refuse_loss(document, split_into_chunks(document))


def test_a_short_document_is_one_chunk_whatever_its_sections() -> None:
    document = markdown(f"# A\n\n## B\n{words(300)}\n\n## C\n{words(500)}\n")
    (draft,) = split_into_chunks(document)
    assert draft.section_path == ("A",)
    assert split_into_chunks(markdown("ok"))[0].tokens == 1


def test_small_sections_are_packed_and_large_ones_stay_alone() -> None:
    sizes = (("B", 300), ("C", 300), ("D", 900), ("E", 150), ("F", 100))
    document = markdown("# A\n" + "".join(f"## {n}\n{words(size)}\n\n" for n, size in sizes))
    drafts = split_into_chunks(document)
    assert [draft.section_path for draft in drafts] == [("A",), ("A", "D"), ("A",)]
    assert [draft.text[:4] for draft in drafts] == ["# A\n", "## D", "## E"]


def test_a_short_opening_goes_to_its_own_section_and_a_short_tail_to_the_one_before() -> None:
    document = markdown(
        f"# A\n{words(1000)}\n## B\n{words(90)}\n## C\n{words(1070)}\n## D\nTail.\n"
    )
    assert [draft.text[:4] for draft in split_into_chunks(document)] == ["# A\n", "## B"]
    assert split_into_chunks(document)[1].text.endswith("Tail.")


def test_a_long_section_is_cut_at_sentences_into_the_target_size() -> None:
    drafts = split_into_chunks(markdown("# A\n" + words(6000)))
    assert all(512 <= draft.tokens <= 1024 for draft in drafts[:-1])
    assert all(draft.text.endswith("why.") for draft in drafts)
    assert {draft.section_path for draft in drafts} == {("A",)}


def test_code_and_tables_are_not_cut_where_they_fit() -> None:
    code = "```\n" + "value = compute(1)\n\n" * 150 + "```"
    table = "| a | b |\n|---|---|\n" + "| number | another word |\n" * 180
    document = markdown(f"# A\n{words(700)}\n\n{code}\n\n{words(600)}\n\n{table}\n\n{words(400)}")
    drafts = split_into_chunks(document)
    refuse_loss(document, drafts)
    assert sum(code in draft.text and draft.has_code for draft in drafts) == 1
    assert sum(table.strip() in draft.text and draft.has_table for draft in drafts) == 1
    assert not all(draft.has_code or draft.has_table for draft in drafts)


def test_a_huge_table_is_cut_between_its_rows() -> None:
    table = "| a | b |\n|---|---|\n" + "| number | another word |\n" * 900
    drafts = split_into_chunks(markdown(table))
    assert len(drafts) > 3
    assert all(draft.text.endswith("|") and draft.has_table for draft in drafts)


def test_a_chunk_names_the_pages_it_touches() -> None:
    document = markdown(words(3000))
    half = len(document.text) // 2
    from_pages = split_into_chunks(
        ParsedDocument(
            text=document.text,
            title="",
            author="",
            sections=document.sections,
            pages=(page(1, 0, half), page(2, half, len(document.text))),
            spans=(),
            updated_at=None,
        )
    )
    touched = [[page.number for page in draft.pages] for draft in from_pages]
    assert touched[0] == [1]
    assert touched[-1] == [2]
    assert [1, 2] in touched


def page(number: int, start: int, end: int) -> Page:
    return Page(number=number, start=start, end=end)


def test_formulas_are_flagged() -> None:
    assert split_into_chunks(markdown("So $x^2$ it is."))[0].has_formula
    assert not split_into_chunks(markdown("It costs $5."))[0].has_formula


def test_each_chunk_has_its_own_language_and_a_short_one_its_documents() -> None:
    german = "Die Pumpe im alten Hafen läuft mit fünf Bar, und niemand weiß warum. " * 45
    drafts = split_into_chunks(markdown(f"# A\n{words(900)}\n\n# B\n{german}\n"))
    assert drafts[0].language == "en"
    assert drafts[-1].language == "de"
    assert detect_language("1 2 3", default="fr") == "fr"
    assert split_into_chunks(markdown("12:30"))[0].language == "und"


def test_a_hand_made_chunk_is_checked() -> None:
    (draft,) = split_into_chunks(markdown(words(200)))
    assert validate_chunk(draft) is draft
    for wrong, message in (
        (replace(draft, text=" "), "Chunk content cannot be empty"),
        (replace(draft, tokens=99), "Chunk must be 100-2000 tokens"),
        (replace(draft, tokens=2001), "Chunk must be 100-2000 tokens"),
    ):
        with pytest.raises(Invalid) as caught:
            validate_chunk(wrong)
        assert str(caught.value) == message


def test_what_is_embedded_names_title_and_headings_once() -> None:
    (draft,) = split_into_chunks(markdown("# Guide\n\nWords."))
    assert text_to_embed("Guide", draft) == "# Guide\n\nWords."
    assert text_to_embed("Manual", draft) == "Manual\n# Guide\n\nWords."
    below = replace(draft, text="Words.", section_path=("Guide", "One", "Two"))
    assert text_to_embed("Guide", below) == "Guide\nOne > Two\nWords."
    assert chunk_hash("Guide", below) == hashlib.sha256(b"Guide\nOne > Two\nWords.").hexdigest()
    assert chunk_hash("Guide", below) != chunk_hash("Other", below)
