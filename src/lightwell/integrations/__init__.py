"""Retrievers for other frameworks, over the client: each module is imported with its framework installed, by the extra of its name."""
