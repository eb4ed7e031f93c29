"""The library's log: silent by default, and written by the logging that the program configures."""

import logging
import subprocess
import sys

import pytest
import structlog
from structlog.testing import capture_logs

from lightwell.logs import logger


@pytest.fixture
def unconfigured() -> None:
    structlog.reset_defaults()


@pytest.mark.usefixtures("unconfigured")
def test_without_structlog_the_standard_library_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        logger("lightwell.somewhere").info("pump started", name="a b", level=3)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("lightwell.somewhere", "INFO")
    assert record.getMessage() == 'event="pump started" name="a b" level=3'


@pytest.mark.usefixtures("unconfigured")
def test_where_structlog_is_configured_it_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with capture_logs() as logged:
        logger("lightwell.somewhere").warning("pump stopped", pump=3)
    assert logged == [{"event": "pump stopped", "log_level": "warning", "pump": 3}]
    assert caplog.records == []


def test_a_program_that_configures_nothing_prints_its_own_lines_alone() -> None:
    code = (
        "from lightwell.logs import logger\nlogger('lightwell.x').info('heard')\n"
        "logger('lightwell.x').warning('heard')\nprint('mine')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("mine\n", "")
