"""The Shadow of the user's repository, the worktrees of attempts, and the sandbox that their commands run in.

Entrances: `repository.discover`, `workspaces.open_workspaces`, `sandbox.detect`.
"""
