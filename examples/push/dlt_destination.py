"""A destination for dlt (https://dlthub.com): each row of a pipeline becomes an item that is pushed into Lightwell.

    pip install dlt
    export DESTINATION__LIGHTWELL__URL=http://127.0.0.1:8000 DESTINATION__LIGHTWELL__SOURCE=tickets DESTINATION__LIGHTWELL__KEY=lw_...
    python dlt_destination.py

Replace `tickets` by a source of dlt, and `describe` by what a row says and who may see it.
"""

import json
from collections.abc import Iterator, Mapping

import dlt
from dlt.sources.helpers import requests  # tries again where the server is busy

Row = Mapping[str, object]


def describe(row: Row, table: str) -> dict[str, object]:
    """Return the line that is pushed for a row."""
    return {
        "id": f"{table}/{row['id']}",
        "title": row["subject"],
        "content": row["body"],
        "updatedAt": str(row["updated_at"]),
        "allow": {"people": [row["owner"]], "groups": ["support"]},
    }


@dlt.destination(batch_size=500, name="lightwell")
def lightwell(
    items: list[Row],
    table: Mapping[str, object],
    url: str = dlt.config.value,
    source: str = dlt.config.value,
    key: str = dlt.secrets.value,
) -> None:
    lines = [json.dumps(describe(row, str(table["name"]))) for row in items]
    reply = requests.put(
        f"{url}/v1/sources/{source}/items",
        data="\n".join(lines).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/x-ndjson"},
    )
    report = reply.json()
    if report["failed"]:
        raise ValueError(f"lines failed: {report['failures'][:5]}")


@dlt.resource(primary_key="id")
def tickets() -> Iterator[Row]:
    yield {
        "id": 7,
        "subject": "Leaking pump",
        "body": "The pump of Nordwind leaks since Monday.",
        "owner": "ada@halden.example",
        "updated_at": "2026-03-02T09:00:00Z",
    }


if __name__ == "__main__":
    print(dlt.pipeline("tickets", destination=lightwell()).run(tickets()))
