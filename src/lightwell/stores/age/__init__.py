"""Copies of graphs in PostgreSQL servers with Apache AGE."""
