"""How many questions a second Lightwell's and LightRAG's servers answer, beside the same stand-ins for the models.

`python -m benchmarks lightrag_load PYTHON [--documents 400] [--seconds 15] [--clients 1,16,64]`

PYTHON is that of an environment of its own with `lightrag-hku[api]` and, for its tokenizer's vocabulary, `litellm` without
dependencies: LightRAG would download the vocabulary. Both servers have the same documents and questions, no reranking, and
vectors of a stand-in; LightRAG's cache of answers is off. LightRAG makes two calls of a model for a question, Lightwell one.
"""

import argparse
import asyncio
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import httpx
import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.growth import document
from benchmarks.server_load import Served, measure_clients, prepare, questions, quote_first, serving
from lightwell.domain.documents import NewDocument
from lightwell.settings import EmbeddingSettings, QuestionSettings, Settings
from lightwell.testing.endpoint import Body, FakeEndpoint
from lightwell.testing.models import HashEmbedder

_PORT = 19621
_DIMENSION = 384
_START_SECONDS = 1200
_LAUNCH = """
import tiktoken.model
tiktoken.model.MODEL_TO_ENCODING["gpt-4o-mini"] = "cl100k_base"
from lightrag.api.lightrag_server import main
main()
"""
_NAME = re.compile(r"\b[A-Z][a-z]{3,}(?: [A-Z][a-z]+)?")


def reply(body: Body) -> str:
    """Reply to a call of either: what LightRAG asks for entities and keywords, else the first sentence shown."""
    messages = cast("Sequence[Mapping[str, str]]", body["messages"])
    system, asked = messages[0]["content"], messages[-1]["content"]
    if "<|#|>" in system:
        names = list(dict.fromkeys(_NAME.findall(asked)))[:8]
        rows = [f"entity<|#|>{name}<|#|>concept<|#|>{name} in the text." for name in names]
        rows += [
            f"relation<|#|>{one}<|#|>{other}<|#|>stands with<|#|>They stand together."
            for one, other in itertools.pairwise(names)
        ]
        return "\n".join([*rows, "<|COMPLETE|>"])
    if "high_level_keywords" in asked:
        words = asked.rpartition("User Query:")[2].split("\n")[0].strip(" ?").split()[2:]
        return json.dumps({"high_level_keywords": words[:2], "low_level_keywords": words})
    if "Document Chunks" in system:
        return "The first sentence of the first passage, which is as long as an answer."
    return quote_first(body)


@contextmanager
def serving_lightrag(python: Path, folder: Path, endpoint: FakeEndpoint) -> Generator[Served]:
    """Run LightRAG's server on the stand-in until the block ends."""
    vocabulary = next(python.parents[1].glob("lib/python*/site-packages/litellm/**/tokenizers"))
    own = {
        "TIKTOKEN_CACHE_DIR": str(vocabulary),
        "LLM_BINDING": "openai",
        "LLM_BINDING_HOST": endpoint.base_url,
        "LLM_BINDING_API_KEY": "none",
        "LLM_MODEL": "stand-in",
        "EMBEDDING_BINDING": "openai",
        "EMBEDDING_BINDING_HOST": endpoint.base_url,
        "EMBEDDING_BINDING_API_KEY": "none",
        "EMBEDDING_MODEL": "stand-in",
        "EMBEDDING_DIM": str(_DIMENSION),
        "ENABLE_LLM_CACHE": "false",
        "RERANK_BINDING": "null",
        "WORKING_DIR": str(folder / "rag"),
        "INPUT_DIR": str(folder / "inputs"),
        "LOG_DIR": str(folder),
        "HOST": "127.0.0.1",
        "PORT": str(_PORT),
    }
    (folder / ".env").write_text("")
    with (folder / "lightrag.log").open("w") as log:
        process = subprocess.Popen(
            [python, "-c", _LAUNCH],
            env=os.environ | own,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{_PORT}"
    try:
        _wait(lambda: httpx.get(f"{url}/health").is_success, folder)
        yield Served(url=url, key="", process=psutil.Process(process.pid), path="/query")
    finally:
        process.terminate()
        process.wait()


def _wait(is_done: Callable[[], bool], folder: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        if time.monotonic() > end:
            raise SystemExit((folder / "lightrag.log").read_text()[-3000:])
        try:
            if is_done():
                return
        except httpx.TransportError:
            pass  # it does not listen yet
        time.sleep(1)


def insert(served: Served, documents: Sequence[NewDocument], folder: Path) -> None:
    """Give LightRAG the documents, and wait until it has read them."""
    texts = [each.content.decode() for each in documents]
    for first in range(0, len(texts), 50):
        sent = {
            "texts": texts[first : first + 50],
            "file_sources": [each.url for each in documents[first : first + 50]],
        }
        httpx.post(f"{served.url}/documents/texts", json=sent, timeout=120).raise_for_status()

    def is_read() -> bool:
        counts = httpx.get(f"{served.url}/documents/status_counts", timeout=60).json()
        done = cast("Mapping[str, int]", counts["status_counts"])
        return done.get("processed", 0) + done.get("failed", 0) >= len(texts)

    _wait(is_read, folder)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks lightrag_load", description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--clients", default="1,16,64")
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="lightwell-load-"))
    folder.chmod(0o711)
    try:
        _run(given, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(given: argparse.Namespace, folder: Path) -> None:
    documents = [document(number) for number in range(given.documents)]
    bodies = (json.dumps({"query": each}) for each in questions(documents))
    (folder / "questions.jsonl").write_text("\n".join(bodies) + "\n")
    table = Table("server", "clients", "questions/s", "p50 ms", "p95 ms", "failed", "MB")
    with FakeEndpoint(reply, embedder=HashEmbedder(_DIMENSION)).running() as models:
        ours = Settings(
            data=folder / "ours",
            embedding=EmbeddingSettings(url=models.base_url, model="stand-in"),
            questions=QuestionSettings(rerank="none"),
        )
        key = asyncio.run(prepare(ours, documents))
        with serving_lightrag(given.python, folder, models) as theirs:
            began = time.monotonic()
            insert(theirs, documents, folder)
            print(f"LightRAG has read the documents in {time.monotonic() - began:.0f} s")
            answer = httpx.post(
                f"{theirs.url}/query", json={"query": "Who stands where?"}, timeout=60
            )
            print(answer.text[:300])
            measure_clients(theirs, "LightRAG", given, folder, table)
        with serving(ours, key, models) as served:
            measure_clients(served, "Lightwell", given, folder, table)
    Console(width=120).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
