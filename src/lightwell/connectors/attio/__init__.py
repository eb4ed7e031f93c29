"""Attio, a CRM: records, lists, notes, tasks, comments, meetings with transcripts (docs/connectors/attio.md)."""

from lightwell.connectors.attio.opening import open_attio

__all__ = ["open_attio"]
