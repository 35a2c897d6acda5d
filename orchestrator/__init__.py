"""A graph-persisted multi-agent task orchestrator. Start with orchestrator/README.md, the walk of one task."""

__version__ = "0.1.0"
