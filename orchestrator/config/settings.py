"""Settings: frozen, one docstring per field, which is also its help text and its line in docs/settings.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, model_validator

from orchestrator.config.former import ROLES
from orchestrator.domain.review import Strictness
from orchestrator.gates.convergence_limits import ConvergenceLimits
from orchestrator.guards.limits import GuardLimits

LEAST_CONTEXT_WINDOW = 2_000
"""Tokens below which no role's opening fits."""

VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
PlainText = Annotated[str, Field(pattern=r"^[^\x00]*$")]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class PriceSettings(_Section):
    """US dollars per million tokens."""

    input: float = Field(ge=0)
    """Prompt tokens."""
    cached_input: float | None = Field(default=None, ge=0)
    """Prompt tokens that the endpoint served from its cache; the input price where absent."""
    cache_write: float | None = Field(default=None, ge=0)
    """Prompt tokens that the endpoint took into its cache; the input price where absent."""
    output: float = Field(ge=0)
    """Completion tokens, reasoning among them."""


class ModelSettings(_Section):
    """A model and its endpoint: one role's (`[models.planner]`, `[models.worker]`, `[models.verifier]`), or what all
    roles share (`[models]`)."""

    name: str = ""
    """The model's name as the endpoint knows it."""
    base_url: str | None = Field(default=None, pattern=r"^https?://[^/?#\s]+\S*$")
    """The endpoint; OPENAI_BASE_URL where absent, else OpenAI, or Anthropic where api is messages."""
    api: Literal["auto", "chat", "responses", "messages"] = "auto"
    """How it is spoken to: OpenAI's chat completions, which nearly every endpoint knows, OpenAI's Responses, or
    Anthropic's Messages (`pip install 'orchestrate[anthropic]'`); auto decides by endpoint and model."""
    api_key_env: VariableName = "OPENAI_API_KEY"
    """The environment variable that holds the key, for api.anthropic.com ANTHROPIC_API_KEY unless this is set; optional
    where a base_url is set."""
    headers: dict[HeaderName, VariableName] = Field(default_factory=dict)
    """Further headers of every request: the header's name, and the environment variable that holds its value, as in
    `{ api-key = "AZURE_OPENAI_API_KEY" }`. Beside a header that is a key by its name, the key of `api_key_env` is sent
    only where that is set."""
    api_version: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]+$")
    """The query parameter api-version of every request, which Azure's older addresses need."""
    temperature: float | None = Field(default=0.2, ge=0, le=2)
    """Sampling temperature; omitted where the model refuses it."""
    context_window: int = Field(default=128_000, ge=LEAST_CONTEXT_WINDOW)
    """Tokens that prompt and reply may hold together; where it is not set, less if the model is known to hold less, or
    the endpoint says so (llama.cpp, vLLM, OpenRouter and others)."""
    max_output_tokens: int = Field(default=8_192, ge=16)
    """Tokens of one reply at most; where it is not set, less if that is more than half of the window."""
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much a reasoning model is to think; the model's own default where absent. Messages know nothing below low."""
    reasoning_tokens: int | None = Field(default=None, ge=1)
    """Or with how many tokens at most, for endpoints that take a number; over Messages at least 1,024, and as much less
    than max_output_tokens."""
    tools: Literal["native", "json"] = "native"
    """native tool calls, or tool calls as JSON in the text for endpoints without them."""
    idle_timeout_s: float = Field(default=60.0, gt=0)
    """Seconds between two bytes of a streamed reply after which it is given up; before the first byte, and where the
    endpoint does not stream, timeout_s alone counts."""
    timeout_s: float = Field(default=600.0, gt=0)
    """Seconds that one request may take in all, from being sent to the last byte of its reply."""
    retries: int = Field(default=4, ge=0)
    """Further tries after a 429, a 5xx, a connection error or a timeout."""
    rate_limit: float = Field(default=2_500.0, ge=0)
    """Requests an hour (token bucket with burst; 0 or a loopback endpoint: off)."""
    price: PriceSettings | None = None
    """What it costs, where the list of genai-prices does not know the model, or is wrong."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the request body, sent as they are."""


class ModelsSettings(ModelSettings):
    """Models by role: what `[models]` itself sets is the default of every role that does not set it."""

    planner: ModelSettings = ModelSettings()
    worker: ModelSettings = ModelSettings()
    verifier: ModelSettings = ModelSettings()

    @model_validator(mode="wrap")
    @classmethod
    def _inherited(cls, value: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        made = validate(value)
        given = {name: getattr(made, name) for name in made.model_fields_set & ModelSettings.model_fields.keys()}
        roles = {role: _with_defaults(getattr(made, role), given) for role in ROLES if given}
        return made.model_copy(update=roles) if roles else made


def _with_defaults(role: ModelSettings, given: Mapping[str, Any]) -> ModelSettings:
    return role.model_copy(update={name: given[name] for name in given.keys() - role.model_fields_set})


class WorkspaceSettings(_Section):
    """What a worktree gets beside the tracked files."""

    share: tuple[str, ...] = (".venv", "venv", "node_modules")
    """Ignored folders of the user's checkout that are mounted read-only into every workspace, and ignored files, which
    are copied into it."""
    prepare: tuple[PlainText, ...] = ()
    """Commands run once per hash of manifests and lock files, network if allowed, their result cached."""
    env: dict[VariableName, PlainText] = Field(default_factory=dict)
    """Environment variables of every sandboxed command."""
    cache_mb: int = Field(default=4_096, ge=0)
    """Megabytes of build caches (Go, cargo, npm, pip, mypy and the like) that are kept for a plan; larger ones begin
    anew, and with 0 every command begins without."""
    max_file_mb: int = Field(default=50, ge=1)
    """Megabytes of one file that an attempt may leave; work with a larger one is rejected."""


class SandboxSettings(_Section):
    """How commands are confined."""

    level: Literal["auto", "bubblewrap", "landlock", "none"] = "auto"
    """The strongest that works here, or the one named; `none` must be asked for."""
    read_paths: tuple[PlainText, ...] = ()
    """Further paths that commands may read, of the home or of the machine."""
    network: bool = False
    """Whether commands may reach the network."""
    memory_mb: int = Field(default=4_096, ge=64)
    """Megabytes that a command and its children may hold."""
    command_timeout_s: float = Field(default=600.0, gt=0)
    """Seconds that one command may take."""
    idle_timeout_s: float = Field(default=300.0, gt=0)
    """Seconds without output after which a command is ended."""
    output_limit: int = Field(default=10_000_000, ge=1_000)
    """Bytes of output after which a command is ended."""


class ChecksSettings(_Section):
    """Verification commands."""

    commands: tuple[str, ...] = ()
    """The verification of every plan that names none of its own; `orchestrate init` finds it out."""
    timeout_s: float = Field(default=600.0, gt=0)
    """Seconds that one verification command may take."""
    parallel: int = Field(default=1, ge=1, le=16)
    """Commands of one check pass at once, each on a checkout of its own; what those beside the first cache is not
    kept."""
    confirmations: int = Field(default=2, ge=0, le=10)
    """How often tests that fail newly are run again, alone, before they count: one that passes then is flaky, which is
    told and holds nothing up; with 0 none is."""
    protected: tuple[str, ...] = ()
    """Further globs of files that decide whether work passes: checks run with them as they were, and a task changes
    them only where it names them."""


class BudgetsSettings(_Section):
    """Tool call budgets by band, where a task sets none."""

    simple: int = Field(default=20, ge=1)
    """Tool calls of a task below the first threshold."""
    moderate: int = Field(default=50, ge=1)
    """Tool calls of a task below the second threshold."""
    complex: int = Field(default=100, ge=1)
    """Tool calls of an overridden complex task."""
    research: int = Field(default=150, ge=1)
    """Tool calls of an overridden research task."""
    planner: int = Field(default=40, ge=1)
    """Tool calls of one planning round."""
    verifier: int = Field(default=25, ge=1)
    """Tool calls of one review."""
    from_history: bool = False
    """Whether what accepted attempts needed lowers a kind's default; else it is only suggested."""


class ComplexitySettings(_Section):
    """Pre-flight's thresholds."""

    moderate_from: int = Field(default=50, ge=1)
    """Scores from here on are moderate."""
    refused_above: int = Field(default=100, ge=1)
    """Scores above are refused."""
    max_criteria: int = Field(default=8, ge=1)
    """A task with more than one written file and so many criteria is refused."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.moderate_from > self.refused_above:
            raise ValueError("needs a moderate_from of at most refused_above")
        return self


class ReviewSettings(_Section):
    """QC."""

    strictness: Strictness = "normal"
    """How many errors and warnings a review may hold and still pass: strict none, normal 3 warnings, lenient 2 errors
    and 10 warnings. A task of a plan file may have its own."""
    threshold: int = Field(default=80, ge=0, le=100)
    """A pass with a lower score is a fail."""


_KINDS_OF_BOUND = ("max_cost_usd", "max_tokens", "deadline_s", "working_time_s")
BOUNDS = (*_KINDS_OF_BOUND, *(f"task_{kind}" for kind in _KINDS_OF_BOUND))
"""The settings of a run that bound what it and its tasks may use."""


ScopeGrants = Literal["files", "any", "none"]


class RunSettings(_Section):
    """Execution of a plan."""

    parallel: int = Field(default=1, ge=1, le=64)
    """Tasks at once."""
    lease_s: float = Field(default=60.0, ge=2)
    """Seconds that a claim holds without renewal."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """US dollars that a run may cost."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Tokens that a run may use."""
    deadline_s: float | None = Field(default=None, gt=0)
    """Seconds that a run may take; time in which no process worked for it does not count."""
    working_time_s: float | None = Field(default=None, gt=0)
    """Seconds that all attempts of a run may work together, without what they waited for rate limits."""
    task_max_cost_usd: float | None = Field(default=None, gt=0)
    """US dollars that all attempts of one task may cost together in a run."""
    task_max_tokens: int | None = Field(default=None, ge=1)
    """Tokens that all attempts of one task may use together in a run."""
    task_deadline_s: float | None = Field(default=None, gt=0)
    """Seconds from the beginning of a task's first attempt in a run; time in which nobody worked at it does not
    count."""
    task_working_time_s: float | None = Field(default=None, gt=0)
    """Seconds that all attempts of one task may work together in a run, without what they waited for rate limits."""
    max_stopped_attempts: int = Field(default=2, ge=1)
    """Attempts of a task that may be stopped by a bound before it fails."""
    scope_grants: ScopeGrants = "files"
    """What the PM's model may grant a worker that asks for paths beyond its task's: single files, named one by one;
    any pattern; or none. Protected files are never among them."""
    graph_wait_s: float = Field(default=60.0, ge=0)
    """Seconds that a write waits for a graph that is away."""


class FixerSettings(_Section):
    """A command that mends what was found, run over rejected work before a model is asked, in the sandbox and within
    the task's paths and diff budget. What it changes stays only where a second run changes nothing more, no file is
    broken and nothing protected is touched. Where the checks that had failed then pass, no worker is asked."""

    code: str = ""
    """The finding's code that it is for, as `show` tells it."""
    check: str = ""
    """Or the verification command that it is for, as the plan has it, such as `ruff check .`."""
    command: str = Field(min_length=1)
    """What is run, such as `ruff check --fix .`."""

    @model_validator(mode="after")
    def _for_one(self) -> Self:
        if bool(self.code) == bool(self.check):
            raise ValueError("needs either a code or a check that it is for")
        return self


class Settings(_Section):
    """All of it. Environment over file, flags over environment; secrets come from the environment alone."""

    models: ModelsSettings = ModelsSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    sandbox: SandboxSettings = SandboxSettings()
    checks: ChecksSettings = ChecksSettings()
    budgets: BudgetsSettings = BudgetsSettings()
    complexity: ComplexitySettings = ComplexitySettings()
    guards: GuardLimits = GuardLimits()
    convergence: ConvergenceLimits = ConvergenceLimits()
    review: ReviewSettings = ReviewSettings()
    run: RunSettings = RunSettings()
    fixers: tuple[FixerSettings, ...] = ()
    """Commands that mend what was found before a model is asked, each a table `[[fixers]]`."""
