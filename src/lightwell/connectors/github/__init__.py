"""GitHub: issues, pull requests and Markdown files of repositories, over REST (docs/connectors/github.md)."""

from lightwell.connectors.github.opening import open_github

__all__ = ["open_github"]
