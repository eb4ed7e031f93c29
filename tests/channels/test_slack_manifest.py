"""The manifest that people paste has what the bot needs, and nothing else."""

import re
from pathlib import Path
from typing import Any

import yaml

from tests.slack_server.web_api import SCOPES

PAGE = (Path(__file__).parents[2] / "docs" / "channels" / "slack.md").read_text("utf-8")
OF_EVENTS = {"app_mention": "app_mentions:read", "message.im": "im:history"}
WITH_USERS_INFO = {"users:read.email"}


def manifest() -> dict[str, Any]:
    match = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    return yaml.safe_load(match[1])


def test_the_manifest_asks_for_the_scopes_that_are_used() -> None:
    scopes = manifest()["oauth_config"]["scopes"]["bot"]
    events = manifest()["settings"]["event_subscriptions"]["bot_events"]
    used = {scope for scope in SCOPES.values() if scope}
    needed = used | {OF_EVENTS[event] for event in events} | {"commands"} | WITH_USERS_INFO
    assert sorted(needed) == scopes


def test_the_page_says_why_of_each_scope() -> None:
    reasons = PAGE.partition("## Why each scope")[2].partition("## ")[0]
    for scope in manifest()["oauth_config"]["scopes"]["bot"]:
        assert f"`{scope}`" in reasons
