"""Calls a server with `lightrag-api`, a client of LightRAG by others; a program of its own, since its package is called as LightRAG's is."""

import asyncio
import sys
from typing import Any

from lightrag.api import AsyncLightRagClient  # pyright: ignore

QUESTION = "What discount does Nordwind receive?"


def connect(url: str, key: str) -> Any:
    return AsyncLightRagClient(url, api_key=key)  # pyright: ignore


async def main(url: str, key: str) -> None:
    client = connect(url, key)
    assert (await client.login("ada", key))["access_token"] == key
    stored = await client.insert_text("Osprey has forty nets.", "nets.txt")
    tracked = await client.get_track_status(stored.track_id)
    (document,) = tracked.documents
    assert document.file_path == "nets.txt", document
    assert (await client.get_pipeline_status()).busy
    listed = await client.get_documents_paginated()
    assert listed.pagination.total_count == 3, listed
    assert (await client.get_status_counts()).status_counts["processed"] == 2
    assert "Nordwind" in await client.get_graph_labels()
    assert "Nordwind" in await client.get_popular_labels()
    assert await client.search_labels("nord") == ["Nordwind"]
    assert (await client.get_knowledge_graph("*"))["nodes"]
    assert (await client.check_entity_exists("Nordwind"))["exists"]
    answer = await client.query(QUESTION)
    assert "18 percent" in answer.response
    assert answer.references
    pieces = [piece async for piece in client.query_stream(QUESTION)]
    assert [*pieces[0]] == ["references"]
    assert (await client.query_data(QUESTION)).data["chunks"]
    await client.create_entity("Pump", {"description": "A pump."})
    await client.update_entity("Pump", {"description": "A big pump."})
    await client.create_relation("Pump", "Nordwind", {"description": "Sells it."})
    await client.merge_entities(["Pump"], "Nordwind")
    for refused in (client.clear_cache, client.clear_documents):
        assert (await refused()).status == "fail"
    await client.reprocess_failed()
    await client.scan_documents()
    deleted = await client.delete_document([document.id])
    assert deleted.status == "deletion_started"


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
