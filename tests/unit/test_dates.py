"""Dates in a text."""

import pytest

from lightwell.text.dates import PartialDate, find_dates


@pytest.mark.parametrize("text", ["on 3 APRİL 2026", "on Aprıl 3, 2026", "on 3 april 2026"])
def test_a_month_is_known_with_a_turkish_i(text: str) -> None:
    assert find_dates(text) == (PartialDate(year=2026, month=4, day=3),)
