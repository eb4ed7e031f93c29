"""A Milvus server, and a collection of vectors on it: creating, writing, searching, and sealing what was written.

Milvus answers from what it has loaded. After a restart that is nothing for a while, without an error; what was just written may be missing
for some seconds (`BOUNDED`). A call with `STRONG` waits for all of it, 0.2 to 0.4 seconds.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pymilvus import AsyncMilvusClient, DataType
from pymilvus.exceptions import MilvusException

from lightwell.domain.errors import IndexFailed
from lightwell.domain.ids import ProjectId, SpaceId
from lightwell.text.regex import regex

T = TypeVar("T")

BOUNDED, STRONG = "Bounded", "Strong"
MAX_HITS = 16_384
"""The most that one search of Milvus returns."""

_ROWS_PER_CALL = 1000
_ROWS_PER_WRITE = 500
"""Milvus takes 64 MiB at once; a row has up to 64 KiB of text and 16 KiB of vector."""

_EF_SEARCH = 800
"""Candidates of HNSW. With 200, recall@10 for readers of a tenth of the vectors was 0.90, with 800 it is 0.97, and no slower."""

_MAX_UNSEALED = 4_000
"""Rows that are searched without HNSW. From about 5,000 on, Milvus searches them by a coarse index of its own: readers of 1 % then miss every second hit."""

_PREFIX = "lightwell_"
_EARLIER = regex(rf"{_PREFIX}[0-9a-f]{{32}}_[0-9]+")
_INDEX, _METRIC = "HNSW", "COSINE"
_RATE_LIMITED = 8
"""The code of Milvus's error for more calls of a kind than its quota allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusServer:
    """A connection to a Milvus server; `address` is for messages, `seconds` is the limit of one call."""

    client: AsyncMilvusClient
    address: str
    seconds: float

    @asynccontextmanager
    async def errors(self) -> AsyncGenerator[None]:
        """Raise `IndexFailed` with what to do for an error of the server or of the connection."""
        try:
            async with asyncio.timeout(self.seconds):
                yield
        except TimeoutError as error:
            raise IndexFailed(
                f"Milvus at {self.address} did not answer within {self.seconds:g} seconds; it may be starting"
            ) from error
        except MilvusException as error:
            raise IndexFailed(
                f"Milvus at {self.address} failed: {error.message}; check that it runs, LIGHTWELL_MILVUS_URL and"
                " LIGHTWELL_MILVUS_TOKEN"
            ) from error

    def collection(self, project_id: ProjectId, space: SpaceId, suffix: str) -> "MilvusCollection":
        """Return the collection of a project's embedding space with this suffix; it need not exist."""
        return MilvusCollection(server=self, name=f"{_PREFIX}{project_id.hex}_{space:d}{suffix}")

    async def describe(self) -> str:
        """Return the server's version and how many collections of Lightwell it has; raise `IndexFailed` also where one has another index."""
        async with self.errors():
            version = cast("str", await self.client.get_server_version())
            names = [
                name for name in await self.client.list_collections() if name.startswith(_PREFIX)
            ]
            for name in names:
                if _EARLIER.fullmatch(name):
                    raise IndexFailed(
                        f"An earlier version of Lightwell wrote the collection {name} of Milvus at {self.address}, without texts:"
                        " write it anew with `lightwell copy-vectors milvus`"
                    )
                index = cast("Mapping[str, str]", await self.client.describe_index(name, "vector"))
                if (index["index_type"], index["metric_type"]) != (_INDEX, _METRIC):
                    raise IndexFailed(
                        f"The collection {name} of Milvus at {self.address} has the index {index['index_type']} with {index['metric_type']} instead of"
                        f" {_INDEX} with {_METRIC}: drop it, and copy its vectors with `lightwell copy-vectors milvus`"
                    )
        return f"Milvus {version} answers, {len(names)} collections"


@asynccontextmanager
async def connect(url: str, token: str, seconds: float) -> AsyncGenerator[MilvusServer]:
    """Yield a connection to a Milvus server, which is opened with its first call."""
    client = AsyncMilvusClient(url, token=token, timeout=seconds)
    try:
        yield MilvusServer(client=client, address=url, seconds=seconds)
    finally:
        await client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a collection beside its vector; `length` is the most bytes of a text."""

    name: str
    type: DataType
    length: int = 0
    is_primary: bool = False


Row = dict[str, Any]
"""A row as Milvus gives and takes it, by the names of the fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A hit of a search: the primary key, the similarity and the fields that were asked for."""

    key: str
    similarity: float
    fields: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusCollection:
    """A collection with an access class `class_id` and a `vector` in each row. Every call raises `IndexFailed`."""

    server: MilvusServer
    name: str

    async def create(self, dimension: int, fields: Sequence[Field]) -> None:
        """Create the collection with its indexes (HNSW, M=16, efConstruction=200, cosine); do nothing if it exists."""
        client = self.server.client
        async with self.server.errors():
            if await client.has_collection(self.name):
                return
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            for field in fields:
                length = {"max_length": field.length} if field.length else {}
                schema.add_field(field.name, field.type, is_primary=field.is_primary, **length)
            schema.add_field("class_id", DataType.INT64)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
            index = client.prepare_index_params()
            index.add_index("class_id", index_type="STL_SORT")
            index.add_index(
                "vector",
                index_type=_INDEX,
                metric_type=_METRIC,
                params={"M": 16, "efConstruction": 200},
            )
            await client.create_collection(
                self.name, schema=schema, index_params=index, consistency_level=BOUNDED
            )

    async def exists(self) -> bool:
        """Return whether the server has the collection."""
        async with self.server.errors():
            return await self.server.client.has_collection(self.name)

    async def drop(self) -> None:
        """Remove the collection; do nothing if it does not exist."""
        async with self.server.errors():
            await self.server.client.drop_collection(self.name)

    async def upsert(self, rows: Sequence[Row]) -> None:
        """Insert or replace rows by their primary keys."""
        for start in range(0, len(rows), _ROWS_PER_WRITE):
            async with self.server.errors():
                await self.server.client.upsert(
                    self.name, list(rows[start : start + _ROWS_PER_WRITE])
                )

    async def delete(self, field: str, values: Sequence[UUID | str | int]) -> None:
        """Delete the rows that have one of these values."""
        for batch in in_batches(values):
            async with self.server.errors():
                await self.server.client.delete(self.name, filter=among(field, batch))

    async def query(
        self,
        field: str,
        values: Sequence[UUID | str | int],
        fields: Sequence[str],
        *,
        level: str = BOUNDED,
    ) -> list[Row]:
        """Return these fields of the rows that have one of these values."""
        rows: list[Row] = []
        for batch in in_batches(values):
            async with self.server.errors():
                rows += cast(
                    "list[Row]",
                    await self.server.client.query(
                        self.name,
                        filter=among(field, batch),
                        output_fields=list(fields),
                        consistency_level=level,
                    ),
                )
        return rows

    async def count(self, level: str) -> int:
        """Return how many rows there are."""
        async with self.server.errors():
            rows = cast(
                "list[dict[str, int]]",
                await self.server.client.query(
                    self.name, filter="", output_fields=["count(*)"], consistency_level=level
                ),
            )
        return rows[0]["count(*)"]

    async def wait_until_searched(self) -> None:
        """Wait until searches that do not wait (`BOUNDED`) read what was written before this call."""
        await self.count(STRONG)

    async def search(
        self,
        vector: NDArray[np.float32],
        expression: str,
        limit: int,
        *,
        level: str,
        fields: Sequence[str] = (),
    ) -> list[Found]:
        """Return up to `limit` rows that the expression allows, nearest first."""
        async with self.server.errors():
            hits = cast(
                "list[list[Row]]",
                await self.server.client.search(
                    self.name,
                    [vector.astype(np.float32)],
                    limit=limit,
                    filter=expression,
                    output_fields=list(fields),
                    anns_field="vector",
                    search_params={"params": {"ef": max(_EF_SEARCH, limit)}},
                    consistency_level=level,
                ),
            )
        return [
            Found(key=hit["id"], similarity=float(hit["distance"]), fields=hit.get("entity", {}))
            for hit in hits[0]
        ]

    async def seal(self) -> bool:
        """Have Milvus build its index over what was written last, where that is much; return whether the index holds the rest.

        How much that is follows from the rows that are sealed, of which some may be deleted by now: Milvus forgets these by itself.
        Where its quota allows no sealing now (from 2.4 on, one in ten seconds), the next call does it.
        """
        count = await self.count(STRONG)
        sealed, waiting = await self._sealed()
        if count - sealed < _MAX_UNSEALED:
            return not waiting
        async with self.server.errors():
            try:
                await self.server.client.flush(self.name)
            except MilvusException as error:
                if error.code != _RATE_LIMITED:
                    raise
        return False

    async def _sealed(self) -> tuple[int, int]:
        """Return how many rows are sealed, and how many of them wait for their index."""
        async with self.server.errors():
            state = cast(
                "Mapping[str, int]", await self.server.client.describe_index(self.name, "vector")
            )
        # `pending_index_rows` would count merged copies of what is indexed already.
        return int(state["total_rows"]), int(state["total_rows"]) - int(state["indexed_rows"])


def in_batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield parts that one call may take."""
    for start in range(0, len(values), _ROWS_PER_CALL):
        yield values[start : start + _ROWS_PER_CALL]


def among(field: str, values: Iterable[UUID | str | int]) -> str:
    """Return the expression that the field has one of these ids. They are numbers, UUIDs and words of ours, so nothing must be escaped."""
    words = [str(int(value)) if isinstance(value, int) else f'"{value}"' for value in values]
    return f"{field} in [{', '.join(words)}]"
