"""All that a copy of a graph holds, as somebody sees it who opens the copy with the tools of its store."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import LiteralString, cast
from uuid import UUID

import psycopg
from neo4j import GraphDatabase
from psycopg import sql

from tests.age_server.server import AgeServer
from tests.neo4j_server.server import PASSWORD, Neo4jServer

Properties = Mapping[str, object]

_NODES = "MATCH (n {graph: $graph}) WHERE NOT n:Graph RETURN labels(n)[0] AS label, properties(n) AS properties, elementId(n) AS id"
_EDGES = "MATCH (a {graph: $graph})-[r]->(b) RETURN type(r) AS type, properties(r) AS properties, elementId(a) AS start, elementId(b) AS end"
_LABELS = (("Chunk", "Entity"), ("MENTIONS", "STATES", "RELATED_TO"))


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The nodes, and the edges with the nodes at their ends; all without the id of the copy."""

    nodes: list[tuple[str, Properties]]
    edges: list[tuple[str, Properties, Properties, Properties]]

    def of(self, label: str) -> list[Properties]:
        return [properties for name, properties in self.nodes if name == label]

    def between(self, kind: str) -> list[tuple[Properties, Properties, Properties]]:
        """Return the edges of this kind: start, properties, end."""
        return [(start, edge, end) for name, start, edge, end in self.edges if name == kind]

    def texts(self) -> list[str]:
        """Return everything as sorted texts, to compare copies by."""
        return sorted(repr(each) for each in (*self.nodes, *self.edges))


def read_contents(server: Neo4jServer | AgeServer, graph: UUID) -> Contents:
    return _of_age(server, graph) if isinstance(server, AgeServer) else _of_neo4j(server, graph)


def _of_neo4j(server: Neo4jServer, graph: UUID) -> Contents:
    with GraphDatabase.driver(server.url, auth=("neo4j", PASSWORD)) as driver:
        nodes = driver.execute_query(_NODES, {"graph": str(graph)}).records
        edges = driver.execute_query(_EDGES, {"graph": str(graph)}).records
    known = {node["id"]: _plain(node["properties"]) for node in nodes}
    return Contents(
        nodes=[(node["label"], known[node["id"]]) for node in nodes],
        edges=[
            (edge["type"], known[edge["start"]], _plain(edge["properties"]), known[edge["end"]])
            for edge in edges
        ],
    )


def _of_age(server: AgeServer, graph: UUID) -> Contents:
    nodes, edges = _LABELS
    found: list[tuple[str, Properties]] = []
    known: dict[str, Properties] = {}
    joined: list[tuple[str, Properties, Properties, Properties]] = []
    with psycopg.connect(server.url) as connection:
        connection.execute("SET search_path = public, ag_catalog")
        for label in nodes:
            for id_, properties in _table(connection, graph, label, "id::text, properties"):
                known[id_] = _plain(json.loads(properties))
                found.append((label, known[id_]))
        for label in edges:
            for start, end, properties in _table(
                connection, graph, label, "start_id::text, end_id::text, properties"
            ):
                joined.append((label, known[start], _plain(json.loads(properties)), known[end]))
    return Contents(nodes=found, edges=joined)


def _table(
    connection: psycopg.Connection, graph: UUID, label: str, columns: LiteralString
) -> list[tuple[str, ...]]:
    table = sql.Identifier(f"lightwell_{graph.hex}", label)
    query = sql.SQL("SELECT {} FROM {}").format(sql.SQL(columns), table)
    return cast("list[tuple[str, ...]]", connection.execute(query).fetchall())


def _plain(properties: Mapping[str, object]) -> Properties:
    return {name: properties[name] for name in sorted(properties) if name != "graph"}
