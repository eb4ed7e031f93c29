"""Calls that come together are carried out together."""

import asyncio
from collections.abc import Sequence

import pytest

from lightwell.domain.errors import StoreFailed
from lightwell.records.coalescer import Coalescer


class Rounds:
    """Doubles numbers, a round at a time, each as long as the test wants."""

    def __init__(self) -> None:
        self.seen: list[list[int]] = []
        self.at_once = 0
        self.free = asyncio.Event()

    async def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.at_once += 1
        assert self.at_once == 1
        self.seen.append(list(numbers))
        await self.free.wait()
        self.at_once -= 1
        if 13 in numbers:
            raise StoreFailed("13 is too much")
        return [2 * number for number in numbers]


async def test_what_comes_while_one_round_is_under_way_goes_together_in_the_next() -> None:
    rounds = Rounds()
    double = Coalescer[int, int](rounds)
    first = [asyncio.create_task(double(number)) for number in (1, 2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    later = [asyncio.create_task(double(number)) for number in (3, 4, 5)]
    await asyncio.sleep(0)
    rounds.free.set()
    assert await asyncio.gather(*first, *later) == [2, 4, 6, 8, 10]
    assert rounds.seen == [[1, 2], [3, 4, 5]]
    assert await double(6) == 12


async def test_a_caller_that_gives_up_spoils_nothing_for_the_others() -> None:
    rounds = Rounds()
    double = Coalescer[int, int](rounds)
    gone, stays = asyncio.create_task(double(1)), asyncio.create_task(double(2))
    await asyncio.sleep(0)
    gone.cancel()
    rounds.free.set()
    assert await stays == 4
    assert rounds.seen == [[1, 2]]


async def test_a_round_that_fails_fails_for_all_in_it_and_for_no_other() -> None:
    rounds = Rounds()
    rounds.free.set()
    double = Coalescer[int, int](rounds)
    failed = await asyncio.gather(double(13), double(1), return_exceptions=True)
    assert [type(each) for each in failed] == [StoreFailed, StoreFailed]
    assert await double(1) == 2
    with pytest.raises(StoreFailed):
        await double(13)
