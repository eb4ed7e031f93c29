import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.documents import ChunkDraft, Section
from lightwell.domain.graph import MentionType, Predicate, normalize_name
from lightwell.domain.ids import ChunkId
from lightwell.ingest.extract import rule_extractor
from lightwell.ports import ExtractionInput


def chunk(
    text: str, title: str = "", *, section: tuple[str, ...] = (), below: str = "", index: int = 0
) -> ExtractionInput:
    draft = ChunkDraft(
        index=index,
        start=0,
        end=len(text),
        text=text,
        tokens=len(text) // 4,
        section_path=section,
        sections=(Section(path=(*section, below), start=0, end=len(text)),) if below else (),
        pages=(),
        has_code=False,
        has_formula=False,
        has_table=False,
        language="en",
    )
    return ExtractionInput(
        id=ChunkId(uuid.UUID(int=index)), document_title=title, draft=draft, is_first=index == 0
    )


def kinds(text: str, title: str = "") -> dict[str, str]:
    return {
        mention.name: mention.kind
        for mention in rule_extractor.extract_by_rules(chunk(text, title)).mentions
    }


def check(text: str, expected: str, never: str = "") -> None:
    """`expected` is "kind: name; name | kind: name", `never` is "name; name"."""
    found = kinds(text)
    for group in filter(None, expected.split(" | ")):
        kind, _, names = group.partition(": ")
        for name in names.split("; "):
            assert found.get(name) == kind, (name, found)
    assert not set(never.split("; ")) & set(found)


@pytest.mark.parametrize(
    ("text", "expected", "never"),
    [
        ("We met Ada Lovelace in London.", "name: Ada Lovelace; London", "We; We met"),
        ("However, Ada Lovelace wrote it.", "name: Ada Lovelace", "However"),
        ("In Paris it rained. Sometimes not.", "name: Paris", "In Paris; Sometimes"),
        ("Founded in 1911, it failed.", "", "Founded"),
        ("Grafana broke. Then Grafana was up.", "name: Grafana", "Then Grafana"),
        ("Doors broke. She sells Doors.", "name: Doors", ""),
        ("Doors broke. She sells them.", "", "Doors"),
        ("by Charles de Gaulle of Lille", "name: Charles de Gaulle; Lille", "Charles"),
        ("by Ludwig van Beethoven", "name: Ludwig van Beethoven", "Beethoven"),
        ("read J. R. R. Tolkien and J.K. Rowling", "name: J. R. R. Tolkien; J.K. Rowling", "R"),
        ("O'Brien, AT&T, Jean-Luc Picard", "name: O'Brien; AT&T; Jean-Luc Picard", "Brien"),
        ("it was Martin Luther King Jr. who spoke", "name: Martin Luther King Jr.", "Jr."),
        ("born in Leland, North Carolina.", "name: Leland; Leland, North Carolina", ""),
        ("he met Bob, Alice and Carl", "name: Bob; Alice; Carl", "Bob, Alice; Alice and Carl"),
        ("they watched Gone with the Wind twice", "name: Gone with the Wind", ""),
        ("an Academy for the Blind", "name: Academy for the Blind; Academy; Blind", ""),
        ("he met Alice on Tuesday, in Rome", "name: Alice; Rome", "Alice on Tuesday"),
        ("at the 2022 Winter Olympics", "name: Winter Olympics; 2022 Winter Olympics", "2022"),
        ("on Apollo 11 with Buzz Aldrin", "name: Apollo 11; Buzz Aldrin", "11"),
        ("saw Alfred Hitchcock's Psycho", "name: Alfred Hitchcock; Psycho", ""),
        ("since World War I. During it, Bob hid.", "name: Bob", "World War I. During"),
        ("On Monday and in January I met March hares.", "", "Monday; January; I; March"),
        ("It came from an American actor.", "", "American; It"),
        ("iPhone, Node.js, main.py, README.md", "name: iPhone; Node.js", "README; README.md"),
        ("The budget of NASA was WELL done.", "term: NASA", "The; WELL"),
        ("in part II and MMXX", "", "II"),
    ],
)
def test_a_name_is_a_capitalised_span_that_does_not_owe_its_capital_to_its_place(
    text: str, expected: str, never: str
) -> None:
    check(text, expected, never)


@pytest.mark.parametrize(
    ("text", "expected", "never"),
    [
        ("met Dr. Jane Smith and Mr. Jones", "person: Jane Smith; Jones", "Dr. Jane Smith"),
        (
            "President Barack Obama of the United States",
            "person: Barack Obama | name: United States",
            "President Barack Obama of the United States",
        ),
        ("Queensland Senator Barnaby Joyce", "person: Barnaby Joyce | name: Queensland", ""),
        ("Prime Minister Indira Gandhi spoke", "person: Indira Gandhi", ""),
        ("the President of the United States", "name: United States", ""),
        ("the University of Chicago", "organization: University of Chicago", "University"),
        ("at Acme GmbH and Contoso Ltd.", "organization: Acme GmbH; Acme; Contoso Ltd.", ""),
        ("Northwind Traders, Inc", "name: Northwind Traders", ""),
    ],
)
def test_titles_tell_people_and_endings_tell_companies(
    text: str, expected: str, never: str
) -> None:
    check(text, expected, never)


@pytest.mark.parametrize(
    ("text", "expected", "never"),
    [
        ("write to Ada@Acme-Corp.com.", "person: ada@acme-corp.com | domain: acme-corp.com", "Ada"),
        ("write to ada@gmail.com", "person: ada@gmail.com", "gmail.com"),
        ("see https://www.example.org/setup.py!", "domain: example.org", "setup.py"),
        ("see docs.example.io, app.py and e.g. x.y", "domain: docs.example.io", "app.py; e.g"),
        (
            "fix ENG-42, INV-2024-001, RFC 9457 and CVE-2024-1234",
            "identifier: ENG-42; INV-2024-001; RFC 9457; CVE-2024-1234",
            "ENG; INV; RFC; CVE",
        ),
        ("UTF-8 and COVID-19", "term: UTF-8; COVID-19", ""),
        ("on 2024-01-05 at 10:30, 42 of 1,000", "", "2024-01-05; 42"),
        ('She sang "Hello Love" and “Psycho”.', "work: Hello Love; Psycho", ""),
        ('He said "No, I do not know."', "", "No, I do not know; No"),
    ],
)
def test_addresses_identifiers_and_quoted_works_are_told_by_their_form(
    text: str, expected: str, never: str
) -> None:
    check(text, expected, never)


@pytest.mark.parametrize(
    ("text", "expected", "never"),
    [
        ('"Core hours" means ten to three.', "term: Core hours", ""),
        ("The **grace period** is defined as a week.", "term: grace period", ""),
        ("**Data processor:** they do it", "term: Data processor", ""),
        ("- **Data processor**: they do it", "term: Data processor", ""),
        ("Retention period\n: how long", "term: Retention period", ""),
        ("## 2.1 Annual leave\nTwenty days.", "term: Annual leave", "2.1 Annual leave"),
        ("## Introduction\nTwenty days.", "", "Introduction"),
    ],
)
def test_what_a_text_defines_or_heads_is_a_term(text: str, expected: str, never: str) -> None:
    check(text, expected, never)


def test_headings_over_a_chunk_and_within_it_are_terms_even_where_the_text_lost_their_marks() -> (
    None
):
    said = rule_extractor.extract_by_rules(
        chunk("twenty days", section=("Handbook", "Annual leave"), below="Bank holidays")
    )
    assert [mention.name for mention in said.mentions] == ["Annual leave", "Bank holidays"]


@pytest.mark.parametrize(
    ("text", "expected", "never"),
    [
        ("See [the Grafana docs](https://docs.vendor.com/Setup.md).", "name: Grafana", "docs.vendor.com; Setup"),
        ("See [Grafana](../People/ada.md#Ada-Byron).", "name: Grafana", "People; Ada-Byron"),
        ("The docs are at https://docs.vendor.com/setup.", "domain: docs.vendor.com", ""),
        ("Click the icon. Then press it.", "", "Click"),
        ("Additionally, Fastly caches it.\nDelete the old user.", "name: Fastly", "Additionally; Delete"),
        ("Open a PR and copy its URL and the ID.", "", "PR; URL; ID"),
        ("The page is on GOV.UK today.", "name: GOV.UK", "GOV"),
    ],
)  # fmt: skip
def test_instructions_and_the_targets_of_links_name_nothing(
    text: str, expected: str, never: str
) -> None:
    check(text, expected, never)


def test_code_inside_fences_names_nothing() -> None:
    check("Ask Bob.\n```python\nfrom Foo import Bar\n```\nAsk Eve.", "name: Bob; Eve", "Foo; Bar")
    check("Ask Bob.\n```\nfrom Foo import Bar", "name: Bob", "Foo; Bar")


def test_a_chat_names_its_speakers_and_takes_joined_names_apart() -> None:
    said = rule_extractor.extract_by_rules(
        chunk("Time: 20260105_11:00\nLiHua: Hey Adam!\nAdamSmith: Awesome!\nThrall: Note: Bye!\n")
    )
    assert [mention.name for mention in said.mentions] == ["Li Hua", "Adam", "Adam Smith", "Thrall"]
    assert said.mentions[0].attributes == {"aliases": "LiHua"}
    assert [(one.subject, one.object) for one in said.relation_mentions] == [("Li Hua", "Adam")]


def test_a_title_is_metadata_of_the_first_chunk_and_its_bare_name_is_told_too() -> None:
    first = rule_extractor.extract_by_rules(chunk("a song by Jim Reeves", "Hello Love (song)"))
    assert [(one.name, one.kind, one.type) for one in first.mentions[:2]] == [
        ("Hello Love (song)", "document", MentionType.METADATA),
        ("Hello Love", "document", MentionType.METADATA),
    ]
    later = rule_extractor.extract_by_rules(
        chunk("a song by Jim Reeves", "Hello Love (song)", index=1)
    )
    assert [one.name for one in later.mentions] == ["Jim Reeves"]


def test_one_name_is_one_mention_with_its_count_and_its_most_telling_kind() -> None:
    said = rule_extractor.extract_by_rules(
        chunk("Ask Ada Lovelace. Dr. Ada Lovelace knows. ADA LOVELACE's word.")
    )
    [mention] = said.mentions
    assert (mention.name, mention.kind, mention.count) == ("Ada Lovelace", "person", 3)


def test_a_name_broken_over_two_lines_of_running_text_is_one() -> None:
    line = "a long line of running text that was broken by its editor in the United"
    check(f"{line}\nStates of America", "name: United States of America", "United; States")
    check("- Short Line\n- Other Line", "name: Short Line; Other Line", "Short Line Other Line")


def test_statements_hold_what_shares_sentences_the_strongest_first() -> None:
    text = "Ada met Bob. Ada met Bob. Ada saw Carl in Rome. The river was wide."
    said = rule_extractor.extract_by_rules(chunk(text))
    assert [(one.subject, one.object, one.weight) for one in said.relation_mentions] == [
        ("Ada", "Bob", 2.0),
        ("Carl", "Rome", 1.0),
        ("Ada", "Carl", 1.0),
        ("Ada", "Rome", 1.0),
    ]
    assert {(one.predicate, one.confidence, one.keywords) for one in said.relation_mentions} == {
        (Predicate.RELATED_TO, 0.5, "")
    }


def test_a_chunk_of_many_names_keeps_the_most_frequent_then_the_first() -> None:
    many = [f"X{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(60)]
    said = rule_extractor.extract_by_rules(
        chunk(" met ".join(["z", *many, many[50], many[50]]), "The title")
    )
    assert [one.name for one in said.mentions[:3]] == ["The title", many[50], many[0]]
    assert (len(said.mentions), len(said.relation_mentions)) == (40, 12)


async def test_the_extractor_reads_chunks_in_order_and_each_by_itself() -> None:
    chunks = [chunk("Doors broke."), chunk("She sells Doors.", index=1)]
    said = await rule_extractor.RuleExtractor().extract(chunks)
    assert [[one.name for one in each.mentions] for each in said] == [[], ["Doors"]]


_PIECES = st.sampled_from(
    """Ada Lovelace of the United States "Hello Love" — Dr. Smith's ada@acme.com ENG-42 https://x.org/y . ! : \n ```
    **Bold:** # İstanbul ß ǅ 数学 O'Neil J. R. R. I'm AdamSmith: | & , 1st Earl 2022 – ' ’ \x00 ) ( The Inc.""".split(
        " "
    )
)


@given(
    text=st.one_of(st.text(), st.lists(_PIECES, max_size=60).map(" ".join)),
    title=st.one_of(st.text(max_size=40), st.just("Hello Love (song)")),
)
def test_any_text_is_read_and_what_is_said_holds_together(text: str, title: str) -> None:
    said = rule_extractor.extract_by_rules(chunk(text, title))
    names = [mention.name for mention in said.mentions]
    assert len({normalize_name(name) for name in names}) == len(names) <= 40
    assert all(
        normalize_name(name) and one.count >= 1
        for name, one in zip(names, said.mentions, strict=True)
    )
    assert len(said.relation_mentions) <= 12
    assert {end for one in said.relation_mentions for end in (one.subject, one.object)} <= set(
        names
    )
    assert all(one.subject != one.object and one.weight >= 1 for one in said.relation_mentions)
    assert rule_extractor.extract_by_rules(chunk(text, title)) == said
