"""The server that the cases of this folder ask, as their environment names it."""

# They run in another environment than the rest of the tests: test_retrievers.py makes it.

import os

URL = os.environ["TEST_SERVER"]
KEY = os.environ["LIGHTWELL_API_KEY"]
QUESTION = "Who ordered pumps from Nordwind?"
SENTENCE = "Acme Corp ordered 40 pumps from Nordwind in March."
DOCUMENTS = 3


def check_metadata(metadata: dict[str, object], text: str) -> None:
    """Fail unless the metadata lead to the passage."""
    assert metadata["title"] == "Orders"
    assert metadata["section"] == "Orders"
    assert metadata["source"] == "file:///shelf/orders.md"
    address, _, place = str(metadata["url"]).partition("#")
    assert address == f"{URL}/d/{metadata['document_id']}"
    assert isinstance(metadata["start"], int)
    assert isinstance(metadata["end"], int)
    assert metadata["end"] - metadata["start"] == len(text)
    start, end = map(int, place.split("-"))
    assert text[start - metadata["start"] : end - metadata["start"]] == SENTENCE
    assert isinstance(metadata["score"], float)
    assert 0.6 <= metadata["score"] <= 1
