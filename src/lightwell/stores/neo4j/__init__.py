"""Copies of graphs in a Neo4j server."""
