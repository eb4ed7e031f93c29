"""GitHub: issues, pull requests and files of repositories, over REST (docs/connectors/github.md)."""
