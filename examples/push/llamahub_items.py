"""Items of a reader of LlamaHub (LlamaIndex): what it loads is pushed as it is.

    pip install llama-index-core
    python llamahub_items.py FOLDER @halden.example > items.ndjson &&
        lightwell push items.ndjson --source notes --everything --server http://127.0.0.1:8000

`SimpleDirectoryReader` stands for any other reader. Readers say nothing of who may see what they load, so one domain sees it all.
"""

import json
import sys
from collections.abc import Iterable, Iterator

from llama_index.core import SimpleDirectoryReader
from llama_index.core.schema import Document


def lines(documents: Iterable[Document], domain: str) -> Iterator[dict[str, object]]:
    """Yield a line for each document."""
    for document in documents:
        metadata = {name: value for name, value in document.metadata.items() if value}
        yield {
            "id": document.id_,
            "title": metadata.pop("file_name", ""),
            "content": document.text,
            "metadata": metadata,
            "allow": {"domains": [domain]},
        }


if __name__ == "__main__":
    reader = SimpleDirectoryReader(sys.argv[1], recursive=True, filename_as_id=True)
    for line in lines(reader.load_data(), sys.argv[2]):
        print(json.dumps(line))
