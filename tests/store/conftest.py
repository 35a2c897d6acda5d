"""The store's tests run over both servers."""

from __future__ import annotations

from tests.graph_servers import any_graph, embedded_home, graph_server, real_neo4j

__all__ = ["any_graph", "embedded_home", "graph_server", "real_neo4j"]
