"""The contract of connectors holds for the one in memory, and finds what a connector does wrong."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage, WebhookHint
from lightwell.testing.connector_contract import Genuine, check_connector
from lightwell.testing.item_source import MemorySource, MemorySystem, ref_of

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def full() -> MemorySystem:
    system = MemorySystem(people={"ada": "ada@halden.example"}, teams={"core": {"ada"}})
    for number in range(5):
        system.put(f"issue/{number}", f"Text {number}", about="issue/0" if number else "")
    return system


def genuine(system: MemorySystem) -> Genuine:
    headers, body = system.webhook("d1", ["issue/1"], moment=NOW)
    return Genuine(headers=headers, body=body, received_at=NOW)


@dataclass(frozen=True)
class LosesItems(MemorySource):
    """Its cursor is beyond what its page holds."""

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        async for page in super().pull(stream, cursor):
            yield ItemPage(items=page.items[:1], cursor=page.cursor)


@dataclass(frozen=True)
class ForgetsRemoved(MemorySource):
    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        page = await super().fetch(refs)
        return ItemPage(items=page.items, cursor="")


@dataclass(frozen=True)
class TrustsEverybody(MemorySource):
    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        return WebhookHint(delivery="1")


async def test_the_connector_in_memory_keeps_the_contract() -> None:
    system = full()
    unknown = ref_of("issue/none")
    await check_connector(MemorySource(system), unknown=unknown, webhook=genuine(system))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (LosesItems, "are listed, and never pulled"),
        (ForgetsRemoved, "is not removed"),
        (TrustsEverybody, "is not refused"),
    ],
)
async def test_the_contract_finds_what_a_connector_does_wrong(
    kind: type[MemorySource], message: str
) -> None:
    system = full()
    with pytest.raises(AssertionError, match=message):
        await check_connector(kind(system), unknown=ref_of("issue/none"), webhook=genuine(system))
