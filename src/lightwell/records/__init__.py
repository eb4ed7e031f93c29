"""The system of record: what PostgreSQL stores, and the SQL that reads and writes it.

It is a layer below the stages because it is always there; `stores/` holds what can be exchanged.
"""
