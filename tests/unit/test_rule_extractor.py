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
    text: str,
    title: str = "",
    *,
    section: tuple[str, ...] = (),
    below: str = "",
    index: int = 0,
    language: str = "en",
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
        language=language,
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
        ("We met Ada Lovelace in London.", "term: Ada Lovelace; London", "We; We met"),
        ("However, Ada Lovelace wrote it.", "person: Ada Lovelace", "However"),
        ("In Paris it rained. Sometimes not.", "term: Paris", "In Paris; Sometimes"),
        ("Founded in 1911, it failed.", "", "Founded"),
        ("Grafana broke. Then Grafana was up.", "term: Grafana", "Then Grafana"),
        ("Grafana broke. Priya likes Grafana.", "term: Grafana", ""),
        ("Doors broke. She sells them.", "", "Doors"),
        ("We called Anna and asked Support about Bills.", "term: Anna", "Support; Bills"),
        ("by Charles de Gaulle of Lille", "term: Charles de Gaulle; Lille", "Charles"),
        ("by Ludwig van Beethoven", "term: Ludwig van Beethoven", "Beethoven"),
        ("read J. R. R. Tolkien and J.K. Rowling", "term: J. R. R. Tolkien; J.K. Rowling", "R"),
        ("by O'Brien and Jean-Luc Picard", "term: O'Brien; Jean-Luc Picard", "Brien"),
        ("it was Martin Luther King Jr. who spoke", "term: Martin Luther King Jr.", "Jr."),
        ("born in Leland, North Carolina.", "place: Leland | term: North Carolina", ""),
        (
            "he met Priya, Alice and Jonas",
            "term: Priya; Alice; Jonas",
            "Priya, Alice; Alice and Jonas",
        ),
        ("they watched Gone with the Wind twice", "", "Gone; Wind"),
        ("he met Alice on Tuesday, in Rome", "term: Alice; Rome", "Alice on Tuesday"),
        ("at the 2022 Winter Olympics", "term: Winter Olympics", "2022"),
        ("on Apollo 11 with Buzz Aldrin", "term: Apollo 11; Buzz Aldrin", "11"),
        ("saw Alfred Hitchcock's Vertigo", "term: Alfred Hitchcock; Vertigo", ""),
        ("since World War I. During it, Priya hid.", "term: Priya", "World War I. During"),
        ("On Monday and in January I met March hares.", "", "Monday; January; I; March"),
        ("It came from an American actor.", "", "It"),
        (
            "on my iPhone with Node.js, main.py, README.md is an iPhone",
            "term: iPhone; Node.js",
            "README; README.md",
        ),
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
            "person: Barack Obama",
            "President Barack Obama of the United States",
        ),
        ("Queensland Senator Barnaby Joyce", "person: Barnaby Joyce | term: Queensland", ""),
        ("Prime Minister Indira Gandhi spoke", "person: Indira Gandhi", ""),
        ("the President of the United States", "term: President of the United States", ""),
        ("the University of Chicago", "organization: University of Chicago", "University"),
        ("at Acme GmbH and Contoso Ltd.", "organization: Acme GmbH; Acme; Contoso Ltd.", ""),
        ("by Northwind Traders, Inc", "term: Northwind Traders", ""),
    ],
)
def test_titles_tell_people_and_endings_tell_companies(
    text: str, expected: str, never: str
) -> None:
    check(text, expected, never)


@pytest.mark.parametrize(
    ("text", "expected", "never"),
    [
        ("write to Ada@Acme-Corp.com.", "address: ada@acme-corp.com", "Ada; acme-corp.com"),
        ("write to ada.byron@gmail.com", "person: ada.byron@gmail.com", "gmail.com"),
        (
            "write to people-ops@acme.com or people.team@acme.com",
            "address: people-ops@acme.com; people.team@acme.com",
            "",
        ),
        ("see https://www.example.org/setup.py!", "", "setup.py; example.org"),
        ("see docs.example.io, app.py and e.g. x.y", "domain: docs.example.io", "app.py; e.g"),
        (
            "fix ENG-42, INV-2024-001, RFC 9457 and CVE-2024-1234",
            "identifier: ENG-42; INV-2024-001; RFC 9457; CVE-2024-1234",
            "ENG; INV; RFC; CVE",
        ),
        ("on 2024-01-05 at 10:30, 42 of 1,000", "", "2024-01-05; 42"),
        ('She sang "Hello Love" and “Psycho”.', "work: Hello Love", ""),
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
        ("- **Data processor**: they do it", "", "Data processor"),
        (
            "## 2.1 Annual leave\nAnnual leave is 20 days. Ask for annual leave. No annual leave is lost.",
            "term: Annual leave",
            "2.1 Annual leave",
        ),
        ("## Annual leave {#leave}\nTwenty days.", "", "Annual leave; Annual leave {#leave}"),
        ("## Introduction\nTwenty days.", "", "Introduction"),
    ],
)
def test_what_a_text_defines_or_heads_is_a_term(text: str, expected: str, never: str) -> None:
    check(text, expected, never)


def test_a_heading_over_a_chunk_is_a_term_if_the_text_uses_it() -> None:
    said = rule_extractor.extract_by_rules(
        chunk(
            "Annual leave: ask for annual leave early. Annual leave ends. No annual leave is lost.",
            section=("Handbook", "Annual leave"),
            below="Bank holidays",
        )
    )
    assert [mention.name for mention in said.mentions] == ["Annual leave"]


@pytest.mark.parametrize(
    ("text", "expected", "never"),
    [
        ("See [the Grafana docs](https://docs.vendor.com/Setup.md).", "term: Grafana", "docs.vendor.com; Setup"),
        ("See [Grafana](../People/ada.md#Ada-Byron).", "term: Grafana", "People; Ada-Byron"),
        ("The docs are at https://docs.vendor.com/setup or docs.vendor.com.", "domain: docs.vendor.com", ""),
        ("Click the icon. Then press it.", "", "Click"),
        ("Additionally, Grafana shows it.\nDelete the old user.", "term: Grafana", "Additionally; Delete"),
        ("Open a PR and copy its URL and the ID.", "", "PR; URL; ID"),
        ("The page is on GOV.UK today.", "term: GOV.UK", "GOV"),
    ],
)  # fmt: skip
def test_instructions_and_the_targets_of_links_name_nothing(
    text: str, expected: str, never: str
) -> None:
    check(text, expected, never)


def test_code_inside_fences_names_nothing() -> None:
    check(
        "Ask Priya.\n```python\nfrom Foo import Bar\n```\nAsk Jonas.",
        "term: Priya; Jonas",
        "Foo; Bar",
    )
    check("Ask Priya.\n```\nfrom Foo import Bar", "term: Priya", "Foo; Bar")
    check("Ask Priya for `BorgError`.", "term: Priya", "BorgError")


def test_a_chat_names_its_speakers_and_takes_joined_names_apart() -> None:
    said = rule_extractor.extract_by_rules(
        chunk("Time: 20260105_11:00\nLiHua: Hey Adam!\nAdamSmith: Awesome!\nThrall: Note: Bye!\n")
    )
    assert [mention.name for mention in said.mentions] == ["Li Hua", "Adam Smith", "Thrall"]
    assert said.mentions[0].attributes == {"aliases": "LiHua"}


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
    check(f"{line}\nStates of America", "term: United States of America", "United; States")
    check("- Short Line\n- Other Line", "", "Short Line; Short Line Other Line")


def test_statements_hold_what_shares_sentences_the_strongest_first() -> None:
    text = "Ada met Priya. Ada met Priya. Ada saw Jonas in Rome. The river was wide."
    said = rule_extractor.extract_by_rules(chunk(text))
    assert [(one.subject, one.object, one.weight) for one in said.relation_mentions] == [
        ("Ada", "Priya", 2.0),
        ("Jonas", "Rome", 1.0),
        ("Ada", "Jonas", 1.0),
        ("Ada", "Rome", 1.0),
    ]
    assert {(one.predicate, one.confidence, one.keywords) for one in said.relation_mentions} == {
        (Predicate.RELATED_TO, 0.5, "met"),
        (Predicate.RELATED_TO, 0.5, "saw"),
        (Predicate.RELATED_TO, 0.5, ""),
    }


def test_a_chunk_of_many_names_keeps_the_most_frequent_then_the_first() -> None:
    many = [f"X{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(60)]
    said = rule_extractor.extract_by_rules(
        chunk(" met ".join(["z", *many, many[50], many[50]]), "The title")
    )
    assert [one.name for one in said.mentions[:3]] == ["The title", many[50], many[0]]
    assert (len(said.mentions), len(said.relation_mentions)) == (40, 10)


async def test_the_extractor_reads_chunks_in_order_and_each_by_itself() -> None:
    chunks = [chunk("London shook."), chunk("She likes London.", index=1)]
    said = await rule_extractor.RuleExtractor().extract(chunks)
    assert [[one.name for one in each.mentions] for each in said] == [[], ["London"]]


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


@pytest.mark.parametrize(
    ("text", "name", "quote"),
    [
        (
            "We like Grafana a lot here. Grafana is a tool for charts.",
            "Grafana",
            "Grafana is a tool for charts.",
        ),
        (
            "We asked Priya Raman. Today Priya Raman, our safety delegate, wrote a report.",
            "Priya Raman",
            "Today Priya Raman, our safety delegate, wrote a report.",
        ),
        ("Is it in Grafana today or not?", "Grafana", ""),
        ("| Grafana | charts and more charts | 12 |", "Grafana", "Grafana: charts and more charts"),
        ("| Grafana | grafana@acme.org |", "Grafana", ""),
    ],
)
def test_a_name_is_described_by_the_sentence_that_says_best_what_it_is(
    text: str, name: str, quote: str
) -> None:
    said = rule_extractor.extract_by_rules(chunk(f"{text} On Grafana."))
    assert {one.name: one.quote.text for one in said.mentions}[name] == quote


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("The Grafana agent uses Kibana.", Predicate.RELATED_TO),
        ("Grafana uses the Kibana server.", Predicate.USES),
        ("Grafana does not use Kibana.", Predicate.RELATED_TO),
        ("Grafana requires Kibana.", Predicate.PREREQUISITE),
        ("Grafana is a part of Kibana.", Predicate.PART_OF),
        ("Grafana is shown beside Kibana.", Predicate.RELATED_TO),
        ("Grafana implements Kibana.", Predicate.IMPLEMENTS),
    ],
)
def test_a_predicate_is_what_the_words_between_two_names_state(
    text: str, predicate: Predicate
) -> None:
    [relation] = rule_extractor.extract_by_rules(chunk(text)).relation_mentions
    assert (relation.predicate, relation.quote.text) == (predicate, text)


def test_mailing_lists_are_no_persons_and_pages_no_subjects() -> None:
    text = "Write to 18f-dc@acme.org or jane.smith@acme.org, see https://acme.org/wiki."
    assert kinds(text) == {"18f-dc@acme.org": "address", "jane.smith@acme.org": "person"}


@pytest.mark.parametrize(
    "text",
    [
        "Whoever asks, Nobody knows. Tell the Assignee.",
        "## Setup {#setup}\nTODO: Click Save Changes, then Confirm.",
        "Set `BORG_REPO` and BORG_PASSPHRASE at 10:00 UTC on Thursdays.",
    ],
)
def test_ordinary_words_labels_and_identifiers_of_programs_are_no_entities(text: str) -> None:
    assert kinds(text) == {}


def test_german_nouns_and_forms_of_address_are_no_entities_for_their_capitals() -> None:
    text = "Wir danken Ihnen sehr. Sehr gern senden wir Ihrer Abteilung die Bestellung zum Festpreis an Frau Roth."
    said = rule_extractor.extract_by_rules(chunk(text, language="de"))
    assert [(one.name, one.kind) for one in said.mentions] == [("Roth", "person")]
