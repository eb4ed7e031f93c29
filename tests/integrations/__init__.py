"""Retrievers of other frameworks against a real server, in an environment that has the frameworks."""
