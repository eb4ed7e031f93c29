"""What a page of a PDF as a picture costs: bytes, and milliseconds of the processor in the process that draws it."""

import resource
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pypdfium2

from lightwell.domain.originals import PictureRequest
from lightwell.ingest.parse import draw

DOCUMENTS = Path("src/lightwell/world/documents")


def main(words: Sequence[str]) -> None:
    """Draw every page of every PDF below a folder, the example company's by default."""
    folder = Path(words[0]) if words else DOCUMENTS
    sizes: list[int] = []
    milliseconds: list[float] = []
    for file in sorted(folder.rglob("*.pdf")):
        content = file.read_bytes()
        document = pypdfium2.PdfDocument(content)
        for number in range(len(document)):
            text = document[number].get_textpage().get_text_range()
            quote = " ".join(text.split()[:12])
            begun = time.process_time()
            picture = draw(content, PictureRequest(page=number + 1, width=1200, quote=quote))
            milliseconds.append(1000 * (time.process_time() - begun))
            sizes.append(len(picture.png))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{len(sizes)} pages of {folder}, 1200 pixels wide")
    for name, figures, unit in (("size", sizes, "bytes"), ("processor", milliseconds, "ms")):
        print(f"{name}: median {median(figures):,.0f}, most {max(figures):,.0f} {unit}")
    print(f"memory: {memory:,} MB")
