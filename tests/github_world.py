"""Repositories of GitHub for tests: a private one with an issue, a pull request and files, and a public one."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx

from lightwell.connectors.github.source import GithubSource, open_github
from tests.github_stand_in.server import make_github_app
from tests.github_stand_in.state import API, SECRET, TOKEN, FakeGithub


class Forge:
    """`halden/tarn` is private: Ada and Bob work on it. `halden/docs` is public, and Cy is in the organization."""

    def __init__(self) -> None:
        self.github = github = FakeGithub()
        self.ada = github.add_user("ada", email="ada@halden.example", name="Ada Lindqvist")
        self.bob = github.add_user("bob", email="bob@halden.example", name="Bob Okafor")
        self.cy = github.add_user("cy", email="cy@halden.example", name="Cy Ten")
        github.add_organization("halden", {self.ada, self.bob, self.cy})
        self.tarn = github.add_repository("halden/tarn", collaborators={self.ada, self.bob})
        self.docs = github.add_repository("halden/docs", private=False, collaborators={self.ada})
        self.issue = github.add_issue(
            self.tarn, "Pump stops at night", "# Steps\nThe pump stops at two.", author=self.bob
        )
        github.assign(self.tarn, self.issue, self.ada)
        github.label(self.tarn, self.issue, "bug")
        self.comment = github.comment(
            self.tarn, self.issue, "The valve is frozen, see halden/docs#1.", author=self.ada
        )
        self.pull = github.add_issue(
            self.tarn, "Heat the valve", "Fixes #1.", author=self.ada, is_pull=True
        )
        github.review(self.tarn, self.pull, "APPROVED", "Good work.", author=self.bob)
        github.comment_on_line(self.tarn, self.pull, "heat.py", "Use kelvin.", author=self.bob)
        self.public = github.add_issue(self.docs, "Typo in the guide", None, author=self.cy)
        github.write_files(self.docs, {"guide.md": b"# Guide"})
        github.write_files(
            self.tarn,
            {
                "README.md": b"# Tarn\nTarn controls the pumps of Bergen.",
                "docs/start.md": b"Hold the green button for nine seconds.",
                "heat.py": b"print()",
            },
        )


@asynccontextmanager
async def opened(
    github: FakeGithub, names: str = "halden/tarn,halden/docs", **options: str
) -> AsyncGenerator[GithubSource]:
    transport = httpx.ASGITransport(make_github_app(github))
    given = {"repositories": names, "base_url": API, **options}
    async with open_github(given, TOKEN, SECRET, transport) as source:
        source.now = lambda: github.now
        yield source
