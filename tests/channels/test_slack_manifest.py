"""The manifest that people paste has what the bot needs, and nothing else."""

import re
from pathlib import Path
from typing import Any

import yaml

from tests.slack_server.web_api import WebApi
from tests.slack_server.workspace import Workspace

PAGE = (Path(__file__).parents[2] / "docs" / "channels" / "slack.md").read_text("utf-8")
EVENTS = ["app_mention", "message.im"]


def manifest() -> dict[str, Any]:
    match = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    return yaml.safe_load(match[1])


def test_the_manifest_asks_for_the_scopes_that_are_used() -> None:
    scopes = manifest()["oauth_config"]["scopes"]["bot"]
    assert sorted(WebApi(workspace=Workspace()).scopes) == scopes
    assert manifest()["settings"]["event_subscriptions"]["bot_events"] == EVENTS


def test_the_page_says_why_of_each_scope() -> None:
    reasons = PAGE.partition("## Why each scope")[2].partition("## ")[0]
    for scope in manifest()["oauth_config"]["scopes"]["bot"]:
        assert f"`{scope}`" in reasons
