"""Three short documents read by a real small model: what it says is stored, cited and kept, however good it is."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightwell.ingest.extract.extraction_prompt import ExtractionSpec, OutputForm
from lightwell.models.endpoint import Endpoint, connect
from lightwell.models.limiter import Priority
from lightwell.models.openai_chat import OpenAIChat
from lightwell.ports import Message
from lightwell.records.database import Database, Row
from lightwell.testing.sources import InMemorySource, make_document
from tests.flow.extraction_model import Options, read_by_model

READY_SECONDS = 120
READ_SECONDS = 1200
"""How long a call may take: all are sent at once, one thread answers one after the other, and the machine may be busy."""

TAGS = ["team:a"]
NOTES = {
    "hopper": "Grace Hopper wrote a compiler for the Univac computer, which Eckert and Mauchly built in Philadelphia.",
    "nordwind": "Nordwind Energie buys forty pumps from Halden Instruments. Jane Smith signed the contract in March.",
    "bfs": "Breadth-first search visits a graph level by level and uses a queue. Depth-first search uses a stack.",
}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The base URL of the model that LIGHTWELL_TEST_GGUF names."""
    gguf = os.environ["LIGHTWELL_TEST_GGUF"]
    serving = Path(__file__).with_name("serving.py")
    with subprocess.Popen(
        [sys.executable, str(serving), gguf],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            until = time.monotonic() + READY_SECONDS
            for line in process.stdout:
                if line.startswith("listening ") or time.monotonic() > until:
                    yield f"{line.split()[1]}/v1"
                    break
        finally:
            process.kill()


async def test_it_answers_through_our_door(endpoint: str) -> None:
    named = Endpoint(base_url=endpoint, api_key=SecretStr("none"), model="local")
    async with connect(named) as connection:
        chat = OpenAIChat(connection, priority=Priority.QUESTION)
        reply = await chat.reply([Message(role="user", content="Say yes.")], max_tokens=8)
    assert reply.text
    assert reply.usage.input_tokens > 0


@pytest.mark.parametrize("form", list(OutputForm))
async def test_three_documents_are_read_cited_and_kept(
    database: Database, endpoint: str, form: OutputForm
) -> None:
    documents = tuple(make_document(f"{name}.md", text, TAGS) for name, text in NOTES.items())
    options = Options(wanted=ExtractionSpec(form=form), timeout_seconds=READ_SECONDS)
    async with read_by_model(database, endpoint, options) as (project, meter):
        began = time.perf_counter()
        done = await project.kb.ingestion.ingest(InMemorySource(documents=documents))
        seconds = time.perf_counter() - began
        assert done.problems == ()
        kept = await project.database.rows(
            "SELECT cache_type, is_complete, result, chunk_id FROM extraction_cache", {}
        )
        assert len(kept) == meter.summary.calls >= len(NOTES)
        assert all(chunk is not None for *_, chunk in kept)
        told = await project.database.rows(
            """
            SELECT mention.name, mention.entity_kind, mention.description, mention.mention_type, chunk_ref
            FROM document_entity_mentions AS mention JOIN document_chunks USING (chunk_id)
            ORDER BY chunk_ref, mention.name
            """,
            {},
        )
        reader = await project.kb.reader(TAGS)
        refs = {f"{one.ref}#0" async for one in project.kb.documents.iterate(reader)}
        assert {row[-1] for row in told} == refs
        answer = await project.kb.questions.ask(
            "What did Grace Hopper write a compiler for?", reader
        )
        for citation in answer.citations:
            assert citation.snippet in NOTES["hopper"]
        before = meter.summary.calls
        again = (*documents, make_document("copy.md", NOTES["bfs"], TAGS, title="bfs"))
        await project.kb.ingestion.ingest(InMemorySource(documents=again))
        assert meter.summary.calls == before
    report(form, seconds, meter.spent_tokens, kept, told)


def report(
    form: OutputForm, seconds: float, tokens: int, kept: Sequence[Row], told: Sequence[Row]
) -> None:
    """Print what came out, for `benchmarks/README.md`."""
    lines = [f"{form}: {len(kept)} replies, {tokens} tokens, {seconds:.1f} s"]
    for kind, complete, result, _ in kept:
        lines.append(f"  {kind}{'' if complete else ' (cut)'}: {result[:300]!r}")
    for name, kind, description, how, ref in told:
        lines.append(f"  {ref}: {name} [{kind}, {how}] {description[:80]}")
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
