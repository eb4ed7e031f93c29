"""Real manuals in PDF, as Debian ships them, through the local model: read, asked, cited by page."""

import gzip
from pathlib import Path

import pypdfium2
import pytest

from lightwell import Settings, files, open_knowledge_base

PACKAGES = {
    "bzip2-doc": Path("/usr/share/doc/bzip2/manual.pdf.gz"),
    "libtasn1-doc": Path("/usr/share/doc/libtasn1-doc/libtasn1.pdf"),
}
MISSING = [name for name, path in PACKAGES.items() if not path.exists()]

pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"the manuals are not here; apt-get install {' '.join(MISSING)}"
)


@pytest.fixture
def manuals(tmp_path: Path) -> Path:
    for name, path in PACKAGES.items():
        content = path.read_bytes()
        plain = gzip.decompress(content) if path.suffix == ".gz" else content
        (tmp_path / f"{name}.pdf").write_bytes(plain)
    return tmp_path


def page_text(path: Path, number: int) -> str:
    pdf = pypdfium2.PdfDocument(path)
    try:
        return " ".join(str(pdf[number - 1].get_textpage().get_text_range()).split())
    finally:
        pdf.close()


@pytest.mark.slow
async def test_a_real_manual_is_read_asked_and_cited_by_page(
    manuals: Path, database_url: str
) -> None:
    settings = Settings(database_url=database_url)  # pyright: ignore[reportArgumentType]
    async with open_knowledge_base(settings) as kb:
        done = await kb.ingestion.ingest(files(manuals, frozenset({"team:us"}), settings))
        assert done.problems == ()
        us = await kb.reader(["team:us"])
        status = await kb.documents.status(us)
        assert status.chunks >= 30
        answer = await kb.questions.ask(
            "What does the bzip2recover program do with a damaged file?", us
        )
        assert answer.citations
        assert "bzip2recover" in answer.text
        first = answer.citations[0]
        assert first.locator.page is not None
        words = first.snippet.split()
        shown = page_text(manuals / "bzip2-doc.pdf", first.locator.page)
        assert sum(word in shown for word in words) >= 0.8 * len(words)
        stranger = await kb.reader(["team:them"])
        nothing = await kb.questions.ask(
            "What does the bzip2recover program do with a damaged file?", stranger
        )
        assert (nothing.citations, nothing.nearest) == ((), ())
