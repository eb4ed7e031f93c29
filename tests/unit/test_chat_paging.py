"""Long messages in pages: nothing is lost, each page fits, and formats hold on both sides. And what Telegram makes of a page."""

import re
from collections.abc import Sequence

import pytest
from aiogram.types import MessageEntity
from hypothesis import given
from hypothesis import strategies as st

from lightwell.entrypoints.channels.messages import (
    Block,
    Button,
    Kind,
    Limits,
    Message,
    Span,
    Style,
)
from lightwell.entrypoints.channels.paging import (
    block_text,
    fit_label,
    measure,
    paginate,
    plain_text,
    utf16_length,
)
from lightwell.entrypoints.telegram.formatting import MAX_ENTITIES, formatted
from lightwell.text.printable import clean

CLUSTERS = ("👩‍👩‍👧", "🇩🇪", "👍🏽", "é", "ñ̈", "a", "漢", "𝕏", "1️⃣", "क्ष"[:2])
WORDS = (
    "Nordwind",
    "bis",
    "12.",
    "Mai.",
    "Really?",
    "ada@halden.example",
    "/start",
    "#now",
    "x" * 40,
)
TELEGRAM = Limits(characters=4096, counts_utf16=True, buttons=100, label=64)

texts = st.lists(st.sampled_from((*CLUSTERS, *WORDS, " ", " ", "\n", ". ")), max_size=30).map(
    "".join
)
urls = st.sampled_from(("", "", "https://kb.example/d/1"))
spans = st.builds(Span, texts, st.sampled_from(Style), urls)
blocks = st.builds(Block, st.lists(spans, min_size=1, max_size=4).map(tuple), st.sampled_from(Kind))
messages = st.builds(
    Message,
    blocks=st.lists(blocks, max_size=8).map(tuple),
    buttons=st.just(((Button(label="More"),),)),
    picture=st.sampled_from((b"", b"PNG")),
)
limits_of = st.builds(
    Limits,
    characters=st.integers(60, 300),
    counts_utf16=st.booleans(),
    buttons=st.just(8),
    label=st.just(20),
    caption=st.integers(40, 60),
    blocks=st.integers(1, 5),
)


def letters(pages: Sequence[Message]) -> list[tuple[str, Kind, Style, str]]:
    """Return each letter with its kind, style and link."""
    return [
        (letter, block.kind, span.style, span.url)
        for page in pages
        for block in page.blocks
        for span in block.spans
        for letter in span.text
    ]


@given(messages, limits_of)
def test_pages_say_what_the_message_says_in_its_kinds_and_styles_and_each_fits(
    message: Message, limits: Limits
) -> None:
    pages = paginate(message, limits)
    assert letters(pages) == letters([message])
    for number, page in enumerate(pages):
        room = limits.caption if page.picture else limits.characters
        assert measure(plain_text(page.blocks), limits) <= room
        assert len(page.blocks) <= limits.blocks
        assert page.picture == (b"" if number else message.picture)
    assert [bool(page.buttons) for page in pages] == [False] * (len(pages) - 1) + [True]


@given(st.lists(st.sampled_from(CLUSTERS), min_size=30, max_size=80), limits_of)
def test_no_emoji_flag_or_accent_is_broken(clusters: list[str], limits: Limits) -> None:
    pages = paginate(Message(blocks=(Block((Span("".join(clusters)),)),)), limits)
    ends: set[int] = set()
    place = 0
    for cluster in clusters:
        place += len(cluster)
        ends.add(place)
    place = 0
    for page in pages:
        place += len(block_text(page.blocks[0]))
        assert place in ends


def test_a_page_ends_with_a_sentence_else_with_a_word() -> None:
    limits = Limits(characters=40, counts_utf16=True, buttons=8, label=20)
    sentences = Message(
        blocks=(Block((Span("The first one is short. The second one is too long."),)),)
    )
    assert [block_text(page.blocks[0]) for page in paginate(sentences, limits)] == [
        "The first one is short. ",
        "The second one is too long.",
    ]
    words = Message(blocks=(Block((Span("one two three four five six seven eight nine"),)),))
    assert [block_text(page.blocks[0]) for page in paginate(words, limits)] == [
        "one two three four five six seven eight ",
        "nine",
    ]


def test_a_title_and_a_source_stay_with_what_belongs_to_them() -> None:
    limits = Limits(characters=100, counts_utf16=True, buttons=8, label=20)
    source = Block((Span("[1] Handbook"),), Kind.SOURCE)
    quote = Block((Span("Leave may be carried over until March."),), Kind.QUOTE)
    first, second = paginate(Message(blocks=(Block((Span("x" * 60),)), source, quote)), limits)
    assert (len(first.blocks), second.blocks) == (1, (source, quote))


# ── as Telegram takes it ──────────────────────────────────────────────────────────────────────────────

BLOCK_TYPES = {"pre", "expandable_blockquote"}
WITHOUT_OTHERS = {"pre", "code", "text_link"}


def check_entities(text: str, entities: Sequence[MessageEntity]) -> None:
    """Fail unless the entities are as the Bot API wants them."""
    units = utf16_length(text)
    spans = [(entity.offset, entity.offset + entity.length, entity.type) for entity in entities]
    encoded = text.encode("utf-16-le")
    for start, end, _ in spans:
        assert 0 <= start < end <= units
        encoded[2 * start : 2 * end].decode("utf-16-le")  # no half of a character
    for start, end, kind in spans:
        for other_start, other_end, other in spans:
            if (start, end, kind) == (other_start, other_end, other) or end <= other_start:
                continue
            if other_end <= start:
                continue
            is_within = start >= other_start and end <= other_end
            assert is_within or (other_start >= start and other_end <= end)
            if is_within and kind in WITHOUT_OTHERS:
                assert other not in WITHOUT_OTHERS
            if is_within and kind == "code":
                assert other == "expandable_blockquote"  # neither bold nor italic around code
            assert not (is_within and kind in BLOCK_TYPES and other in BLOCK_TYPES)
    assert len(entities) <= MAX_ENTITIES


@given(messages)
def test_entities_lie_in_the_text_and_nest_as_telegram_allows(message: Message) -> None:
    text, entities = formatted(message.blocks)
    check_entities(text, entities)
    is_indented = bool(entities) and entities[0].type == "pre" and entities[0].offset == 0
    assert text == (text.rstrip().lstrip("\n") if is_indented else text.strip())
    assert utf16_length(text) <= utf16_length(plain_text(message.blocks))


DETECTED = (
    re.compile(r"(?<!\w)@[a-zA-Z0-9_]{2,32}(?!\w)"),
    re.compile(r"(?<![\w/<>])/[a-zA-Z0-9_]{1,64}(?![\w/<>])"),
    re.compile(r"(?<!\w)#(?=\w*[^\W\d_])\w+(?!\w*#)"),
    re.compile(r"(?<![\w$])\$[A-Z]{1,8}(?![\w$])"),
    re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}"),
    re.compile(r"(?:https?://)?(?:[a-z0-9-]+\.)+[a-z]{2,}(?:/\S*)?"),
)
"""What Telegram's servers make links of, as its open library tdlib matches it."""

SIGNS = (*"@/#$.:-_<>('1é", " ", " ", "\n", "ab", "b1", "ZZ", "com", "http://")


def assert_nothing_is_linked(text: str, entities: Sequence[MessageEntity]) -> None:
    """Fail where Telegram would make a link: its matches give way to code and to links that are there."""
    kept = [
        (len(text.encode("utf-16-le")[: 2 * entity.offset].decode("utf-16-le")), entity.length)
        for entity in entities
        if entity.type in WITHOUT_OTHERS
    ]
    for pattern in DETECTED:
        for match in pattern.finditer(text):
            assert any(
                start < match.end() and match.start() < start + length for start, length in kept
            ), match[0]


@given(
    st.lists(st.lists(st.sampled_from(SIGNS), max_size=12).map("".join), min_size=1, max_size=4),
    st.sampled_from(Kind),
    st.sampled_from(Style),
)
def test_nothing_in_a_text_becomes_a_link_a_mention_or_a_command(
    parts: list[str], kind: Kind, style: Style
) -> None:
    text, entities = formatted([Block(tuple(Span(part, style) for part in parts), kind)])
    assert_nothing_is_linked(text, entities)


@pytest.mark.parametrize(
    "word",
    [
        "@ada", "_@ada_", "/start", "/24", "/share@kb_bot", "#urgent", "#1a", "#über", "$USD", "evil.com",
        "(evil.com/x)", "http://localhost", "ada@b.de", "www.a.b", "tg://resolve?domain=ada", "почта.рф",
    ],
)  # fmt: skip
def test_such_a_word_is_code(word: str) -> None:
    text, entities = formatted([Block((Span(f"See {word} now"),))])
    assert [entity.type for entity in entities] == ["code"]
    assert text == f"See {word} now"


@pytest.mark.parametrize(
    "word",
    [
        "and/or",
        "24/7",
        "#42",
        "$5",
        "€5",
        "18.5",
        "z.B.",
        "e.g.",
        "12.06.2026",
        "3:14",
        "A–B",
        "C#",
    ],
)
def test_such_a_word_stays_as_it_is(word: str) -> None:
    assert formatted([Block((Span(f"See {word} now"),))]) == (f"See {word} now", [])


def test_nothing_becomes_a_link_where_there_are_more_addresses_than_entities() -> None:
    many = [Block((Span(f"@ada{n} and evil{n}.com, /go{n} " * 5, Style.BOLD),)) for n in range(40)]
    text, entities = formatted(many)
    check_entities(text, entities)
    assert_nothing_is_linked(text, entities)


def test_addresses_are_code_before_other_words_are_bold() -> None:
    spans = (*(Span("b", Style.BOLD), Span(" p ")) * 4, Span("@ada"))
    text, entities = formatted([Block(spans) for _ in range(40)])
    check_entities(text, entities)
    assert_nothing_is_linked(text, entities)


def test_an_address_keeps_its_letters_and_a_link_stays_one() -> None:
    spans = (Span("Write to (ada@halden.example)."), Span(" see a.com", url="https://kb.example/d"))
    text, entities = formatted([Block(spans)])
    assert text == "Write to (ada@halden.example). see a.com"
    shown = [(entity.type, text[entity.offset :][: entity.length]) for entity in entities]
    assert shown == [("code", "ada@halden.example"), ("text_link", " see a.com")]


@pytest.mark.parametrize("unseen", ["\u202e", "\u2066", "\u200b", "\u00ad", "\x07", "\U000e0041"])
def test_what_nobody_sees_is_left_out_and_offsets_fit_the_rest(unseen: str) -> None:
    spans = (Span(f"a{unseen}b "), Span(f"{unseen}c😀", Style.BOLD), Span("d", Style.ITALIC))
    text, entities = formatted([Block(spans)])
    assert text == "ab c😀d"
    assert [(entity.offset, entity.length) for entity in entities] == [(3, 3), (6, 1)]


def test_emoji_and_scripts_keep_their_joiners() -> None:
    assert clean("👩‍👩‍👧 می‌خواهم ❤️\tx\n") == "👩‍👩‍👧 می‌خواهم ❤️\tx\n"


def test_a_label_is_cut_at_a_letter_that_people_see() -> None:
    limits = Limits(characters=100, counts_utf16=True, buttons=8, label=6)
    assert (
        fit_label("one\n two", Limits(characters=1, counts_utf16=True, buttons=1, label=7))
        == "one two"
    )
    assert fit_label("abc👩‍👩‍👧d", limits) == "abc…"
