"""The system of record: what PostgreSQL holds, and the SQL that reads and writes it.

It stands below the stages because it is always there; `stores/` holds what can be exchanged.
"""
