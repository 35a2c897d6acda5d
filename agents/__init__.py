"""The roles that talk to a language model: planner, worker, verifier. See agents/README.md."""
