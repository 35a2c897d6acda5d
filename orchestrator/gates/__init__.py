"""Gates: deterministic checks between "the worker finished" and "the task is completed". Values in, Findings out."""
