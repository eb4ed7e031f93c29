"""LightRAG's working directory as a source: its documents one at a time, what people wrote into its graph, and files that are none of its."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lightwell.connectors import lightrag_store
from lightwell.connectors.lightrag_store import LightragStore
from lightwell.domain.documents import Format, NewDocument
from lightwell.domain.errors import LightwellError, NotFound, SourceFailed
from lightwell.ports import ChangedDocument, UnchangedDocument, UnreadableDocument

TAGS = frozenset({"team:us"})
MOMENT = "2025-03-04T05:06:07+00:00"
GRAPH = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="entity_type"/><key id="d1" for="node" attr.name="description"/>
  <key id="d2" for="node" attr.name="source_id"/><key id="d3" for="edge" attr.name="description"/>
  <key id="d4" for="edge" attr.name="source_id"/><key id="d5" for="edge" attr.name="weight"/>
  <graph edgedefault="undirected">
    <node id="Nordwind"><data key="d1">Read.</data><data key="d2">doc-1-chunk-000&lt;SEP&gt;doc-2-chunk-000</data></node>
    <node id="Tarn Valley"><data key="d0">Natural Feature</data><data key="d1">A valley.</data><data key="d2">manual_creation</data></node>
    <node id="Zürich"><data key="d0">城市</data><data key="d1">A town.</data></node>
    <edge source="Nordwind" target="Tarn Valley"><data key="d3">It is there.</data><data key="d4"/><data key="d5">-1</data></edge>
    <edge source="Nordwind" target="Zürich"><data key="d3">Read.</data><data key="d4">doc-1-chunk-000</data></edge>
  </graph>
</graphml>
"""


def store(
    folder: Path, documents: object, statuses: object = None, graph: str = ""
) -> LightragStore:
    text = documents if isinstance(documents, str) else json.dumps(documents, ensure_ascii=False)
    (folder / "kv_store_full_docs.json").write_text(text, "utf-8")
    if statuses is not None:
        (folder / "kv_store_doc_status.json").write_text(json.dumps(statuses), "utf-8")
    if graph:
        (folder / "graph_chunk_entity_relation.graphml").write_text(graph, "utf-8")
    return LightragStore(folder=folder, tags=TAGS, max_bytes=2000)


async def read(source: LightragStore) -> list[object]:
    return [change async for change in source.changes({})]


async def documents_of(source: LightragStore) -> list[NewDocument]:
    changes = await read(source)
    return [change.document for change in changes if isinstance(change, ChangedDocument)]


async def test_documents_come_with_their_names_dates_and_texts_and_once(tmp_path: Path) -> None:
    documents = {
        "doc-1": {"content": "# Orders\n\nPumps.", "file_path": "/in/orders.md"},
        "doc-2": {"content": "Nets are blue.\nMore.", "file_path": "unknown_source"},
        "doc-3": {"content": "Scan.", "file_path": "scan.pdf"},
    }
    statuses = {"doc-1": {"created_at": MOMENT}, "doc-2": {"created_at": "soon"}, "doc-9": 5}
    source = store(tmp_path, documents, statuses)
    first, second, third = await documents_of(source)
    assert (first.url, first.source_id) == ("lightrag:///doc-1/orders.md", "doc-1")
    assert (first.format, first.acl_tags) == (Format.MARKDOWN, TAGS)
    assert first.updated_at == datetime.fromisoformat(MOMENT).astimezone(UTC)
    assert (second.title, second.updated_at) == ("Nets are blue.", None)
    assert (third.format, third.content) == (Format.TEXT, b"Scan.")
    hashes = {each.url: each.content_hash for each in (first, second, third)}
    again = [change async for change in source.changes(hashes)]
    assert all(isinstance(change, UnchangedDocument) for change in again)
    fewer = store(tmp_path, {"doc-1": documents["doc-1"]})
    assert len([change async for change in fewer.changes(hashes)]) == 1


async def test_what_cannot_be_read_is_named_and_costs_itself_alone(tmp_path: Path) -> None:
    documents = {
        "doc-1": {"content": "{{LRdoc}}The beginning of a file.", "file_path": "a.docx"},
        "doc-2": {"content": "", "file_path": "b.pdf"},
        "doc-3": {"content": "x" * 2001, "file_path": "c.txt"},
        "doc-4": ["no record"],
        "doc-5": {"content": "Fine.", "file_path": "\x1b[31m" + "n" * 900},
    }
    changes = await read(store(tmp_path, documents))
    *refused, fine = changes
    assert all(isinstance(change, UnreadableDocument) for change in refused)
    assert "input folder" in str(refused[0])
    assert isinstance(fine, ChangedDocument)
    assert "\x1b" not in fine.document.url


def test_only_what_no_passage_supports_was_written_by_hand(tmp_path: Path) -> None:
    hand_made = store(tmp_path, {}, graph=GRAPH).read_by_hand()
    assert [(edit.name, edit.kind) for edit in hand_made.entities] == [
        ("Tarn Valley", "natural-feature"),
        ("Zürich", ""),
    ]
    (relation,) = hand_made.relations
    assert (relation.subject, relation.object) == ("Nordwind", "Tarn Valley")
    assert (relation.description, relation.weight) == ("It is there.", 1.0)


async def test_members_are_read_one_by_one_wherever_a_part_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lightrag_store, "_PART", 7)
    documents = {f"doc-{n}": {"content": f'"{n}" {{é}} ' * n or "0"} for n in range(40)}
    read_back = await documents_of(store(tmp_path, json.dumps(documents, indent=2)))
    assert [each.content.decode() for each in read_back] == [
        record["content"] for record in documents.values()
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"a"', '{"a": {}', '{"a": {}, }', "{5: 6}", '{"a": ' + "[" * 100_000),
        *('{"a": ' + "9" * 10_000 + "}", '{"a": "' + "x" * 1_100_000, '{"' + "i" * 400 + '": {}}'),
    ],
)
async def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceFailed, match="kv_store_full_docs"):
        await read(store(tmp_path, text))


async def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="working directory"):
        await read(LightragStore(folder=tmp_path, tags=TAGS, max_bytes=1))


BOMB = "<!DOCTYPE a [<!ENTITY b 'bbbbbbbbbb'><!ENTITY c '&b;&b;&b;&b;&b;'><!ENTITY d SYSTEM 'file:///etc/passwd'>]>"


@pytest.mark.parametrize(
    "graph", ["no graph", "<a>", "<a/><b/>", "<a>" * 1000, "<node id='\x00'/>"]
)
def test_another_graph_is_refused(tmp_path: Path, graph: str) -> None:
    with pytest.raises(SourceFailed, match="graphml"):
        store(tmp_path, {}, graph=graph).read_by_hand()


def test_a_graph_reads_no_other_file(tmp_path: Path) -> None:
    graph = f"{BOMB}<g><key id='k' attr.name='description'/><node id='N'><data key='k'>&c;&d;</data></node></g>"
    hand_made = store(tmp_path, {}, graph=graph).read_by_hand()
    assert [edit.description for edit in hand_made.entities] == [""]


def damage(folder: Path, place: int, put: bytes) -> None:
    """Put these bytes into each file in the place of one."""
    for path in folder.iterdir():
        content = path.read_bytes()
        start = place % len(content)
        path.write_bytes(content[:start] + put + content[start + 1 :])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(place=st.integers(0, 2000), put=st.binary(max_size=4))
async def test_a_damaged_file_gives_documents_or_one_error(
    tmp_path: Path, place: int, put: bytes
) -> None:
    source = store(tmp_path, {"doc-1": {"content": "Pumps."}}, {"doc-1": {}}, graph=GRAPH)
    damage(tmp_path, place, put)
    try:
        await read(source)
        source.read_by_hand()
    except LightwellError:
        pass
