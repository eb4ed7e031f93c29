"""Files of data read as texts: keys are sections, values lines, lists of records tables."""

import json

import pytest

from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse
from lightwell.ingest.parse.formats import detect_format


def read(text: str, name: str) -> ParsedDocument:
    content = text.encode()
    assert detect_format(name, content) is Format.DATA
    return parse(content, Format.DATA, name=name)


def where(document: ParsedDocument) -> dict[str, str]:
    return {
        " › ".join(section.path): document.text[section.start : section.end].strip()
        for section in document.sections
    }


COMPOSE = """\
# The shop's services.
version: "3"
base: &base
  restart: always
services:
  # Who answers the door.
  # Two of them.
  web:
    <<: *base
    image: nginx
    ports: [80, 443]
    # how long a call may take
    timeout: 30
    health: {interval: 10s, retries: 3}
  db:
    image: postgres:17
    image: postgres:18
    tag: !Ref Database
    deals:
      - {name: Nordwind, owner: {name: Ann}}
      - {name: Sud, value: "7|8"}
"""


def test_keys_are_sections_values_lines_and_lists_of_records_tables() -> None:
    document = read(COMPOSE, "compose.yaml")
    assert where(document) == {
        "": "The shop's services.\n\nversion: 3\nbase.restart: always",
        "services": "services",
        "services › web": "web\n\nWho answers the door. Two of them.\n\nmerge: *base\nimage: nginx\nports: 80, 443\n"
        "timeout: 30 (how long a call may take)\nhealth.interval: 10s\nhealth.retries: 3",
        "services › db": "db\n\nimage: postgres:17\nimage: postgres:18\ntag: Database",
        "services › db › deals": "deals\n\n| name | owner.name | value |\n| --- | --- | --- |\n"
        "| Nordwind | Ann |  |\n| Sud |  | 7\\|8 |",
    }
    assert [span.kind for span in document.spans] == [SpanKind.TABLE]


def test_the_operations_of_an_api_are_sections() -> None:
    api = {
        "openapi": "3.1.0",
        "info": {"title": "Pump API"},
        "paths": {
            "/pumps": {"get": {"summary": "List all pumps"}, "put": {"description": "Adds."}}
        },
    }
    document = read(json.dumps(api), "api.json")
    assert document.title == "Pump API"
    assert where(document)["paths › GET /pumps: List all pumps"].endswith("summary: List all pumps")
    assert "paths › PUT /pumps" in where(document)


def test_lines_of_json_and_documents_of_yaml_are_many_values() -> None:
    rows = read('{"name": "Ada", "age": 3}\n\n{"name": "Bo", "ok": true}\n', "people.jsonl")
    assert rows.text == "| name | age | ok |\n| --- | --- | --- |\n| Ada | 3 |  |\n| Bo |  | true |"
    kubernetes = read(
        "kind: Pod\nmetadata: {name: web}\nmany: [{a: [{}]}]\n---\nkind: Job\nmetadata: {name: send}\nb: [[{}], 2]\n",
        "k.yml",
    )
    assert [*where(kubernetes)][:2] == ["Pod web", "Pod web › many"]
    assert "Job send" in where(kubernetes)


def test_toml_names_its_project() -> None:
    toml = 'title = "Pumps"\nauthor = "Ada"\nmade = 2026-03-04\n[server.limits]\na = 1\nb = 2.50\nc = "x"\nd = true\n'
    document = read(toml, "x.toml")
    assert (document.title, document.author) == ("Pumps", "Ada")
    assert where(document) == {
        "": "title: Pumps\nauthor: Ada\nmade: 2026-03-04",
        "server": "server",
        "server › limits": "limits\n\na: 1\nb: 2.50\nc: x\nd: true",
    }


def test_many_numbers_and_long_codes_are_cut() -> None:
    data = {"what": "The way of the pump", "way": [[n, n + 0.5] for n in range(1000)]}
    document = read(json.dumps({**data, "picture": "iVBOR" * 1000}), "way.geojson")
    assert "way: 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, … (2,000 numbers)" in document.text
    assert len(document.text) < 300


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"a": 1, // the first\n "b": 2}', "tsconfig.json"),
        ("a: {{ .Values.a }}\nb: [the second\n", "chart.yaml"),
        ("a = 1\na = 2 # again\n", "x.toml"),
        ("words and no data", "notes.json"),
        ("key." * 20_000 + "key = 1", "x.toml"),
    ],
)
def test_what_breaks_the_rules_of_its_format_is_read_as_text(text: str, name: str) -> None:
    assert read(text, name).text.strip() == text.strip()


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        (
            '{"lockfileVersion": 3, "packages": {"a": {"version": "1"}}}',
            "package-lock.json",
            "no_text",
        ),
        ("lockfileVersion: 9", "pnpm-lock.yaml", "no_text"),
        ('{"name": "all words here"}', "bundle.min.json", "no_text"),
        (json.dumps([[n * 1.5 for n in range(30)] for _ in range(30)]), "vector.json", "no_text"),
        (json.dumps({str(n): f"{n:x}9{n}" for n in range(500)}), "codes.json", "no_text"),
        ("[" * 60 + "]" * 60, "deep.json", "broken"),
        ("[" * 100_000, "deeper.json", "broken"),
        ("a: " + "[" * 60 + "]" * 60, "deep.yaml", "broken"),
        ("a: " + "{b: " * 10_000, "deeper.yaml", "broken"),
        ("a = " + "[" * 10_000, "deeper.toml", "broken"),
        ("# nothing but this\n", "a.yaml", "empty"),
        ("[]", "a.json", "empty"),
    ],
)
def test_what_nobody_reads_is_refused(text: str, name: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(text, name)
    assert caught.value.reason == reason


def test_aliases_do_not_multiply_what_they_stand_for() -> None:
    levels = [f"level {n}: &of{n} [{', '.join([f'*of{n - 1}'] * 10)}, more]" for n in range(1, 30)]
    bomb = "level 0: &of0 [ten words are enough]\n" + "\n".join(levels)
    assert len(read(bomb, "bomb.yaml").text) < 3 * len(bomb)
