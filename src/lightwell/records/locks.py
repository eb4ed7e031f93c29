"""The one lock that keeps a project's counts and graph exact (docs/decisions/0002)."""

from typing import LiteralString

PUBLISHING_LOCK: LiteralString = """
SELECT pg_advisory_xact_lock(hashtextextended('publish ' || %(project_id)s::text, 0))
"""
"""Held to the transaction's end by whatever publishes, retires, reclassifies, refreshes, merges or edits."""
