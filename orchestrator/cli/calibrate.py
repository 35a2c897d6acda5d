"""`orchestrate calibrate`: what other limits would have done."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.values import json_option
