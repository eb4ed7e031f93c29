"""GitHub: issues, pull requests and Markdown files of repositories, over REST (docs/connectors/github.md)."""
