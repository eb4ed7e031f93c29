"""Three workers, two projects, and everybody who writes, at once.

`python -m benchmarks load MINUTES` does the same for longer.
"""

import pytest

from lightwell.records.database import Database

from . import load

ROUNDS = 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
async def test_whatever_happens_at_once_counts_stay_exact_and_no_worker_ends(
    database: Database, database_url: str, other_database: Database, seed: int
) -> None:
    report = await load.run(
        database, database_url, other_database, seed, lambda turn: turn < ROUNDS
    )
    assert report.ended == ()
    assert report.differences == {"one": {}, "two": {}}
    assert report.deadlocks == 0
    assert {"changes", "follows", "delete", "erase", "merges", "questions"} <= report.done.keys()
