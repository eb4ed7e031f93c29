"""Hostile front matter: at most its own file fails, and the file beside it is ingested."""

import asyncio
from pathlib import Path

import pytest

from lightwell.connectors._file_settings import parse_front_matter
from lightwell.connectors.files import Files
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import Invalid
from lightwell.ports import Change, ChangedDocument, UnreadableDocument

DEFAULT = frozenset({"team:v"})

REFUSED = {
    "alias": ("a: &a [1]\nb: *a", "aliases"),
    "binary": ("title: !!binary aGVsbG8=", "'title' must be one word"),
    "date3": ("date: 2026-02-30", "out of range; put it in quotes"),
    "dup": ("acl_tags: [team:a]\nacl_tags: [team:evil]", "acl_tags more than once"),
    "dupdeep": ("a: {acl_tags: [x], acl_tags: [y]}", "acl_tags more than once"),
    "dupquoted": ('acl_tags: [team:a]\n"acl_tags": [team:evil]', "acl_tags more than once"),
    "hexint": (f"weight: 0x{'F' * 5000}", "number of more than 300 digits"),
    "hexkey": (f"a: b\n? 0x{'F' * 5000}\n: a", "number of more than 300 digits"),
    "intover": (f"weight: {'9' * 5000}", "out of range; put it in quotes"),
    "metanul": ('metadata: {"k\\0": "v"}', "NUL"),
    "nulmeta": ('description: "a\\0b"', "NUL"),
    "nultitle": ('title: "a\\0b"', "NUL"),
    "nultopic": ('topic: "a\\0b"', "NUL"),
    "omap": ("title: !!omap [a: 1]", "'title' must be one word"),
    "python": (
        'title: !!python/object/apply:os.system ["true"]',
        "line 1: a value has a type that is not allowed",
    ),
    "set": ("title: !!set {a}", "'title' must be one word"),
    "sexa": (f"weight: {'1:' * 20_000}1", "number of more than 300 digits"),
    "sexaf": (f"weight: {'1:' * 200}1.5", "out of range; put it in quotes"),
    "strhuge": (f'version: !!int "0b{"1" * 20_000}"', "number of more than 300 digits"),
    "strkeys": ('"a\\0b": 1', "NUL"),
    "surtitle": ('title: "a\\uD800b"', "Unicode character"),
    "tagdict": ("acl_tags: {a: b}", "list of words"),
    "tagint": ("acl_tags: [1, true]", "list of words"),
    "tagmany": (f"acl_tags: [{','.join(f'u{n}' for n in range(7000))}]", "at most 100"),
    "ts": ("title: !!timestamp 99999-99-99", "out of range; put it in quotes"),
}
TAKEN = {
    "date": "date: 0001-01-01 00:00:00 +14:00\nupdated: 9999-12-31T23:59:59-14:00",
    "date2": "updated: 0001-01-01T00:00:00+23:59",
    "idurl": "id: 00000000-0000-7000-8000-000000000001\nurl: file:///etc/passwd\nglobal_ref: linear:issue:A-1",
    "infmeta": "weight: .inf\nversion: .nan",
    "longtitle": f'title: "{"x" * 60_000}"',
    "mergekey": "<<: {acl_tags: [team:evil]}",
    "namesake": "title: acl_tags\nacl_tags: [team:v]",
    "tagnull": "acl_tags: ",
    "titles": "title: one\ntitle: two",
}


def read(folder: Path, front_matter: str) -> Change:
    """Return what becomes of a file with this front matter; the good one beside it has to be handed over."""
    (folder / "bad.md").write_text(f"---\n{front_matter}\n---\nHello world text.\n")
    (folder / "good.md").write_text("A good neighbour.\n")

    async def collected() -> list[Change]:
        return [each async for each in Files(folder, DEFAULT).changes({})]

    bad, good = asyncio.run(collected())
    assert isinstance(good, ChangedDocument)
    return bad


def taken(change: Change) -> NewDocument:
    assert isinstance(change, ChangedDocument)
    return change.document


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_front_matter_costs_its_own_file_with_a_reason(tmp_path: Path, case: str) -> None:
    front_matter, reason = REFUSED[case]
    bad = read(tmp_path, front_matter)
    assert isinstance(bad, UnreadableDocument)
    assert bad.reason == "settings"
    assert reason in bad.message


@pytest.mark.parametrize("case", TAKEN)
def test_odd_front_matter_is_taken_and_says_nothing_of_identity(tmp_path: Path, case: str) -> None:
    document = taken(read(tmp_path, TAKEN[case]))
    assert document.url == (tmp_path / "bad.md").as_uri()
    assert document.source_id == "bad.md"
    assert document.acl_tags == (frozenset() if case == "tagnull" else DEFAULT)


def test_what_other_tools_keep_there_is_metadata(tmp_path: Path) -> None:
    said = (
        "hide_table_of_contents: true\nmenu: {main: {weight: 1}}\nhide: [navigation, toc]\n"
        "owner: Ada\ndeciders: [Ada, Bob]\ndata_source: wiki\ntags: [a]\nempty:\ntopic_tags: x"
    )
    assert taken(read(tmp_path, said)).metadata == {
        "hide_table_of_contents": "true",
        "menu": '{"main": {"weight": 1}}',
        "hide": "navigation, toc",
        "owner": "Ada",
        "deciders": "Ada, Bob",
        "data_source": "wiki",
        "tags": "a",
        "empty": "",
        "topic_tags": "x",
    }


@pytest.mark.parametrize(
    "key",
    "acl_tag acl-tags aclTags ACL_TAGS acl alc_tags acltag act_tags access_tags \u0430cl_tags acl\u200b_tags".split(),
)
def test_a_misspelt_acl_tags_is_refused_since_it_would_show_the_file_to_others(key: str) -> None:
    with pytest.raises(Invalid, match="looks like a misspelt acl_tags"):
        parse_front_matter({key: ["team:x"]})


@pytest.mark.parametrize("key", ["tags", "tag", "class", "autotags", "a", "access", "x" * 10_000])
def test_other_keys_are_not_taken_for_it(key: str) -> None:
    assert parse_front_matter({key: "x"}).metadata == {key: "x"}
