"""The time that tests wait for an event: it prevents hanging, and asserts nothing about speed."""

PATIENCE = 600.0
"""Seconds; a machine that is busy with other work may be a hundred times slower than an idle one."""
