"""Items of a source connector of unstructured-ingest: it lists and downloads files with their permissions, and Lightwell reads them.

    pip install unstructured-ingest
    python unstructured_items.py FOLDER people.json > items.ndjson &&
        lightwell push items.ndjson --source drive --everything --server http://127.0.0.1:8000

The local connector stands for any other: Google Drive, SharePoint, OneDrive, Confluence and Box name in their permissions who may read a file, by their own ids.
`people.json` leads from these ids to e-mail addresses; whoever is not in it sees nothing. Groups keep their ids: push a line `group` for each.
"""

import json
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path

from unstructured_ingest.data_types.file_data import FileData
from unstructured_ingest.processes.connectors.local import (
    LocalConnectionConfig,
    LocalDownloader,
    LocalIndexer,
    LocalIndexerConfig,
)


def lines(folder: str, people: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """Yield a line for each file of the folder."""
    connection = LocalConnectionConfig()
    config = LocalIndexerConfig(input_path=folder, recursive=True)
    downloader = LocalDownloader(connection_config=connection)
    for file in LocalIndexer(connection_config=connection, index_config=config).run():
        path = downloader.run(file_data=file)["path"]
        yield {
            "id": file.source_identifiers.relative_path,
            "file": b64encode(path.read_bytes()).decode(),
            "fileName": file.source_identifiers.filename,
            "url": file.metadata.url or "",
            "allow": allowed(file, people),
        }


def allowed(file: FileData, people: Mapping[str, str]) -> dict[str, object]:
    """Return whom the source lets read the file."""
    reading = [
        rights["read"] for rights in file.metadata.permissions_data or [] if "read" in rights
    ]
    users = [user for rights in reading for user in rights["users"] if user in people]
    return {
        "people": [people[user] for user in users],
        "groups": [group for rights in reading for group in rights["groups"]],
    }


if __name__ == "__main__":
    known = json.loads(Path(sys.argv[2]).read_text())
    for line in lines(sys.argv[1], known):
        print(json.dumps(line))
