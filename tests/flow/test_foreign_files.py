"""Files that a parser elsewhere reads: stand-ins that follow the published schemas of docling-serve and Unstructured, and a real Tika."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, File, Form, Header, HTTPException, Response, UploadFile
from pydantic import SecretStr

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.connectors.files import Files
from lightwell.domain.errors import Invalid, ModelFailed, Unreadable
from lightwell.domain.formats import Format
from lightwell.ingest.parse import parse
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.clock import Clock, LoopClock
from lightwell.models.endpoint import RetryPolicy
from lightwell.models.file_parser import FileParser, ParserAddress, open_file_parser
from lightwell.wiring import make_retriever
from tests.tika_server.server import tika

from .conftest import Project

KEY = "a key of the test"
TAGS = frozenset({"team:pumps"})
SENTENCE = "The pump of hall seven is serviced by Halden each March."
ELEMENTS: list[dict[str, object]] = [
    {"type": "Header", "text": "Confidential", "metadata": {"page_number": 1}},
    {"type": "Title", "element_id": "1", "text": "Pump notes", "metadata": {"page_number": 1}},
    {"type": "NarrativeText", "text": SENTENCE, "metadata": {"page_number": 1}},
    {
        "type": "Table",
        "text": "Hall Pump 7 P-1",
        "metadata": {
            "page_number": 2,
            "text_as_html": "<table><tr><td>Hall</td><td>Pump</td></tr><tr><td>7</td><td>P-1</td></tr></table>",
        },
    },
    {"type": "ListItem", "text": "Mind the oil.", "metadata": {"page_number": 3, "languages": []}},
]


@dataclass
class Programs:
    """docling-serve and Unstructured, as their published schemas say; `names` are the files that they were sent."""

    status: int = 200
    failures: int = 0
    names: list[str] = field(default_factory=list[str])
    keys: list[str | None] = field(default_factory=list[str | None])

    def app(self) -> FastAPI:
        app = FastAPI()

        @app.post("/v1/convert/file")
        async def convert(
            files: list[UploadFile],
            to_formats: Annotated[list[str], Form()],
            image_export_mode: Annotated[str, Form()],
            x_api_key: Annotated[str | None, Header()] = None,
        ) -> dict[str, object]:
            self._note(files, x_api_key)
            assert (to_formats, image_export_mode) == (["md"], "placeholder")
            text = f"# Pump notes\n\n{SENTENCE}\n\n| Hall | Pump |\n|---|---|\n| 7 | P-1 |\n"
            document = {"filename": "document.doc", "md_content": text, "json_content": None}
            return {"document": document, "status": "success", "errors": [], "processing_time": 0.1}

        @app.post("/general/v0/general")
        async def partition(
            files: Annotated[list[UploadFile], File()],
            output_format: Annotated[str, Form()],
            unstructured_api_key: Annotated[str | None, Header()] = None,
        ) -> Sequence[dict[str, object]]:
            self._note(files, unstructured_api_key)
            assert output_format == "application/json"
            return ELEMENTS

        @app.put("/tika")
        async def put() -> Response:
            return Response("<p>" + "x" * 2000, media_type="text/html")

        return app

    def _note(self, files: Sequence[UploadFile], key: str | None) -> None:
        self.names += [file.filename or "" for file in files]
        self.keys.append(key)
        if self.failures:
            self.failures -= 1
            raise HTTPException(503)
        if self.status != 200:
            raise HTTPException(self.status)


@asynccontextmanager
async def opened(
    programs: Programs, path: str, clock: Clock | None = None
) -> AsyncGenerator[FileParser]:
    address = ParserAddress(
        url=f"http://parser.example{path}",
        api_key=SecretStr(KEY),
        max_reply_bytes=1000,
        retry_policy=RetryPolicy(attempts=3, busy_attempts=3, first_wait=0.01, max_wait=0.01),
    )
    transport = httpx.ASGITransport(programs.app())
    async with open_file_parser(address, clock=clock, transport=transport) as parser:
        yield parser


def reading(project: Project, parser: FileParser) -> KnowledgeBase:
    """Return a knowledge base that sends to this parser what it does not read itself."""
    context = replace(project.context, convert=parser.convert)
    return KnowledgeBase(context, make_retriever(context), AnswerGenerator(model=None))


@pytest.mark.parametrize("path", ["/v1/convert/file", "/general/v0/general"])
async def test_a_file_is_read_by_the_parser_and_cited(
    project: Project, tmp_path: Path, path: str
) -> None:
    (tmp_path / "Ada's notes.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 bytes")
    programs = Programs(failures=2)
    async with opened(programs, path) as parser:
        kb = reading(project, parser)
        result = await kb.ingestion.ingest(Files(tmp_path, TAGS, reads_foreign=True))
    assert [outcome.error for outcome in result.done] == [""]
    assert set(programs.names) == {"document.doc"}  # its name stays here
    assert set(programs.keys) == {KEY}
    reader = await kb.reader(TAGS)
    answer = await kb.questions.ask("Who services the pump of hall seven?", reader)
    assert SENTENCE in answer.text
    document = await kb.documents.get(reader, (tmp_path / "Ada's notes.doc").as_uri())
    assert document.title == "Pump notes"
    assert "| 7 | P-1 |" in await kb.documents.text(reader, document.url)


async def test_without_an_address_nothing_is_sent_and_nothing_is_read(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "notes.doc").write_bytes(b"\xd0\xcf\x11\xe0")
    result = await project.kb.ingestion.ingest(Files(tmp_path, TAGS))
    assert (result.done, result.found.skipped) == ((), {".doc": 1})
    # the address may be taken away between registering and reading
    result = await project.kb.ingestion.ingest(Files(tmp_path, TAGS, reads_foreign=True))
    assert "LIGHTWELL_PARSER_URL" in result.done[0].error


@pytest.mark.parametrize(
    ("path", "status", "kind", "message"),
    [
        ("/v1/convert/file", 422, Unreadable, "cannot read it"),
        ("/general/v0/general", 500, Unreadable, "cannot read it"),
        ("/general/v0/general", 401, ModelFailed, "LIGHTWELL_PARSER_API_KEY"),
        ("/v1/convert/file", 503, ModelFailed, "try again later"),
        ("/wrong/v1/convert/file", 200, ModelFailed, "LIGHTWELL_PARSER_URL"),
        ("/tika", 200, Unreadable, "made more than"),
    ],
)
async def test_whose_failure_it_is(
    path: str, status: int, kind: type[Exception], message: str
) -> None:
    async with opened(Programs(status=status), path) as parser:
        with pytest.raises(kind, match=message) as failure:
            await parser.convert(b"bytes", "a.doc")
    assert KEY not in str(failure.value)


async def test_what_no_parser_has_read_is_skipped_again_where_none_is_named_any_more(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "notes.doc").write_bytes(b"\xd0\xcf\x11\xe0")
    with_parser = Files(tmp_path, TAGS, reads_foreign=True)
    async with opened(Programs(), "/wrong/v1/convert/file") as parser:
        with pytest.raises(ModelFailed, match="LIGHTWELL_PARSER_URL"):
            await reading(project, parser).ingestion.ingest(with_parser)
    result = await project.kb.ingestion.ingest(Files(tmp_path, TAGS))
    assert (len(result.found.problems), result.found.removed, result.done) == (1, 1, ())
    result = await project.kb.ingestion.ingest(Files(tmp_path, TAGS))
    assert (result.found.problems, result.found.skipped) == ([], {".doc": 1})
    async with opened(Programs(), "/v1/convert/file") as parser:
        result = await reading(project, parser).ingestion.ingest(with_parser)
    assert [outcome.error for outcome in result.done] == [""]
    result = await project.kb.ingestion.ingest(Files(tmp_path, TAGS))
    assert (len(result.found.problems), result.found.removed) == (1, 0)
    reader = await project.kb.reader(TAGS)
    document = await project.kb.documents.get(reader, (tmp_path / "notes.doc").as_uri())
    assert SENTENCE in await project.kb.documents.text(reader, document.url)


class Ending(LoopClock):
    """A clock on which whoever waits for another try is cancelled."""

    async def sleep(self, seconds: float) -> None:
        raise asyncio.CancelledError


async def test_whoever_limits_the_time_of_a_file_learns_why_it_was_used_up() -> None:
    async with opened(Programs(status=503), "/v1/convert/file", Ending()) as parser:
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await parser.convert(b"bytes", "a.doc")
    assert "answered 503" in str(cancelled.value.__cause__)


async def test_an_address_that_is_none_of_a_parser_is_refused() -> None:
    with pytest.raises(Invalid, match="/v1/convert/file"):
        async with opened(Programs(), "/v1/chat/completions"):
            pass


@pytest.mark.parametrize(
    "reply",
    [
        b"{", b"[", b"[[]]", b"[1]", b"{}", b'{"document": {}}', b'[{"metadata": null}]', b"[" * 100_000,
        b'{"document": ' * 20_000, b'{"document": {"md_content": ""}, "status": "failure"}',
        b'[{"type": "Table", "metadata": {"text_as_html": "' + b"<b>" * 20_000 + b'"}}]',
        b'[{"type": "Title", "text": "\\ud800", "metadata": {"page_number": -1}}]',
        b'[{"type": "PageBreak", "metadata": {"page_number": 7}}]', b"<p></p>",
    ],
)  # fmt: skip
def test_a_hostile_reply_is_refused(reply: bytes) -> None:
    with pytest.raises(Unreadable):
        parse(reply, Format.FOREIGN, name="a.doc")


def test_elements_have_pages_and_headings() -> None:
    document = parse(json.dumps(ELEMENTS).encode(), Format.FOREIGN, name="a.ppt")
    assert [
        (page.number, document.text[page.start : page.end].strip()) for page in document.pages
    ] == [
        (1, f"Pump notes\n\n{SENTENCE}"),
        (2, "| Hall | Pump |\n| --- | --- |\n| 7 | P-1 |"),
        (3, "- Mind the oil."),
    ]
    assert [section.path for section in document.sections] == [("Pump notes",)]


@pytest.mark.slow
async def test_a_real_tika_reads_what_lightwell_does_not() -> None:
    rtf = rf"{{\rtf1\ansi{{\info{{\title Pump notes}}{{\author Mara Voss}}}}{SENTENCE}\par}}"
    with tika() as url:
        async with open_file_parser(ParserAddress(url=url, api_key=SecretStr(""))) as parser:
            reply = await parser.convert(rtf.encode(), "a.rtf")
            with pytest.raises(Unreadable, match="cannot read it"):
                await parser.convert(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "a.doc")
    document = parse(reply, Format.FOREIGN, name="a.rtf")
    assert (document.title, document.author, document.text) == ("Pump notes", "Mara Voss", SENTENCE)
