"""Attio, a CRM: records, lists, notes, tasks, comments, meetings with transcripts (docs/connectors/attio.md)."""
