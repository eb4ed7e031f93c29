"""`graph rebuild`: writes the copy of the graph in another store anew."""

from rich.text import Text

from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import graph
from lightwell.entrypoints.cli.registration import command
from lightwell.entrypoints.cli.store import settings_of_store


@command(graph, "rebuild", "lightwell graph rebuild")
async def rebuild_graph_copy() -> Report:
    """Write the copy of the graph in LIGHTWELL_GRAPH_STORE anew, from mentions; no model is called.

    Questions find nothing in the graph, and say so, until it is complete.
    """
    from lightwell.wiring import rebuild_graph

    chunks = await rebuild_graph(settings_of_store())
    return Report(document={"chunks": chunks}, text=Text(f"The copy holds {chunks} chunks."))
