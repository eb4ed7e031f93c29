"""What reaches a terminal: no control character of a text that somebody else wrote."""

import pytest
from rich.text import Text

from lightwell.entrypoints.cli import console

HOSTILE = "Nordwind\x1b]0;owned\x07\x1b[2J\x9b31m\u202e AG\r"


def test_no_text_of_a_vendor_or_a_server_controls_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = console.new_table("Name")
    table.add_row(Text(HOSTILE), style="bold")
    console.print_report(table)
    console.print_report(Text(HOSTILE))
    console.errors_console().print(Text(HOSTILE), HOSTILE)
    printed = capsys.readouterr()
    for each in (printed.out, printed.err):
        assert each.count("Nordwind]0;owned[2J31m AG") == 2
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & set(each)
