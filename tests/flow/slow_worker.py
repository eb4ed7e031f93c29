"""A worker process for the tests that kill it: it records each text before it embeds the next."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lightwell.ingest import worker
from lightwell.ports import Vectors
from lightwell.records.database import connect
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.records.locks import LeaseHolder, new_lease_holder
from lightwell.testing.models import HashEmbedder
from tests.flow.conftest import project_on

PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class SlowEmbedder:
    inner: HashEmbedder
    diary: Path

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        await asyncio.sleep(PAUSE_SECONDS)
        vectors = await self.inner.embed_documents(texts)
        with self.diary.open("a") as diary:
            diary.writelines(f"{hash(text)}\n" for text in texts)
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        return await self.inner.embed_query(text)


async def main(url: str, diary: Path, lease: float, *, is_bundled: bool) -> None:
    async with connect(url) as database:
        project = await project_on(database)
        embedder = SlowEmbedder(project.embedder.inner, diary)
        context = replace(
            project.context,
            embedder=embedder,
            models=(SpaceModel(embedder=embedder, sentences=embedder, is_bundled=is_bundled),),
            worker=LeaseHolder(name=new_lease_holder().name, seconds=lease),
        )
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await worker.run_until_done(context, lambda outcome: None)


if __name__ == "__main__":
    asyncio.run(
        main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), is_bundled=len(sys.argv) > 4)
    )
