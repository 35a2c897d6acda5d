"""Every tool by its name, and which of them a role has."""

from __future__ import annotations

from dataclasses import replace

from agents.tools import control, files, search, shell
from agents.tools.port import Tool
from orchestrator.planning.plan_file import SubmittedPlan

READ_FILE = Tool("read_file", files.ReadFile, files.read_file, pure=True)
LIST_FILES = Tool("list_files", files.ListFiles, files.list_files, pure=True)
SEARCH = Tool("search", search.Search, search.search, pure=True)
READ_OUTPUT = Tool("read_output", search.ReadOutput, search.read_output, pure=True)
WRITE_FILE = Tool("write_file", files.WriteFile, files.write_file, touches="path")
EDIT_FILE = Tool("edit_file", files.EditFile, files.edit_file, touches="path")
DELETE_FILE = Tool("delete_file", files.DeleteFile, files.delete_file, touches="path")
RUN_COMMAND = Tool(
    "run_command", shell.RunCommand, shell.run_command, touches="anything", cosmetic=frozenset({"timeout_s"})
)
REPORT_PROGRESS = Tool("report_progress", control.ReportProgress)
REQUEST_BUDGET = Tool("request_budget", control.RequestBudget, cosmetic=frozenset({"justification"}))
REQUEST_SCOPE = Tool("request_scope", control.RequestScope, cosmetic=frozenset({"justification"}))
FINISH_TASK = Tool("finish_task", control.FinishTask)
GIVE_UP = Tool("give_up", control.GiveUp)
SUBMIT_PLAN = Tool("submit_plan", control.SubmitPlan, drawn_from=SubmittedPlan)
SUBMIT_REVIEW = Tool("submit_review", control.SubmitReview)
SUBMIT_DECISION = Tool("submit_decision", control.SubmitDecision)
SUBMIT_REPORT = Tool("submit_report", control.SubmitReport)

_READING = (READ_FILE, LIST_FILES, SEARCH, READ_OUTPUT)
_WRITING = (WRITE_FILE, EDIT_FILE, DELETE_FILE, RUN_COMMAND)
_ASKING = (REPORT_PROGRESS, REQUEST_BUDGET, REQUEST_SCOPE)

WORKER = (*_READING, *_WRITING, *_ASKING, FINISH_TASK, GIVE_UP)
VERIFIER = (*_READING, replace(RUN_COMMAND, touches="nothing"), SUBMIT_REVIEW)
PLANNER = (*_READING, SUBMIT_PLAN)
DECIDER = (SUBMIT_DECISION,)
REPORTER = (SUBMIT_REPORT,)
