"""The frozen records that flow from stage to stage; no behaviour.

source ─scrape→ Package ─screen→ Candidate ─inline→ Program ─generate→ Call ─execute→ Outcome ─certify→ Case
any stage may instead yield a Rejection;  Case ─prompt→ Completion ─answer→ Answer ─grade→ Attempt ─score→ Score
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Json = Any
"""A JSON value as Python's json module reads it, ints exact."""

Stage = Literal["scrape", "screen", "inline", "generate", "execute", "certify", "import"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package at one version, its Python files readable below `root`.

    `root` and nothing else is a path of this machine; it never reaches a file of a task set.
    """

    name: str  # normalised (PEP 503)
    version: str
    spec: str  # the SOURCE that led here, "installed:idna"
    root: str  # folder in which `files` lie; module a.b is a/b.py or a/b/__init__.py below it
    files: tuple[str, ...]  # posix paths relative to root, sorted, *.py only
    license: str | None = None  # SPDX expression
    repository: str | None = None
    commit: str | None = None
    url: str | None = None  # where the artefact came from
    sha256: str | None = None  # of the artefact, or of the files where there is none (installed:, path:)
    released: str | None = None  # ISO 8601 date
    environment: tuple[Package, ...] = ()  # locked dependencies by name, read for inlining
    compiled: tuple[str, ...] = ()  # posix paths of its extension modules, which nobody can read
    barred: Rejection | None = None  # of a locked dependency: why none of its code may be inlined


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Something that is not used, and why. `reason` is a short slug from a closed list, `detail` is for people."""

    subject: str  # "package", "package:module", "package:module:qualname", a program id or a case id
    stage: Stage
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A named part of a Type: a dataclass field, a constructor parameter, a TypedDict key."""

    name: str
    type: Type
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """A resolved annotation. Immutable and hashable; `exe/inputs` gives it schema, decoding and strategy.

    `kind` is a word of a closed list kept by `exe/analysis/annotations.py`: int, str, list, dict, tuple, union,
    literal, enum, object, … `args` are the type arguments. `values` are literal values or enum member names.
    `origin` is "module:qualname" of a class that the package defines, "" otherwise.
    `text` is the annotation as a person writes it.
    """

    kind: str
    text: str
    args: tuple[Type, ...] = ()
    values: tuple[Any, ...] = ()
    origin: str = ""
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of an entry. `default` is its source text, None where there is none."""

    name: str
    kind: Literal["positional", "normal", "keyword", "args", "kwargs"]
    type: Type
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A function whose signature and own body qualify.

    For an instance method `self_type` is the class as a constructible Type, and the call reads `Class(…).method(…)`.
    `origins` are the "module:qualname" of all package classes that the signature's types name: the inlined program
    must bind them.
    """

    package: Package
    module: str
    qualname: str
    path: str  # posix, relative to package.root
    line: int  # of the def, 1-based
    how: Literal["function", "static", "class", "method"]
    parameters: tuple[Parameter, ...]
    returns: Type
    self_type: Type | None = None
    origins: tuple[str, ...] = ()
    docstring: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a program comes from."""

    package: str
    version: str
    module: str
    qualname: str
    path: str
    line: int
    license: str | None = None
    repository: str | None = None
    commit: str | None = None
    sha256: str | None = None
    released: str | None = None

    @property
    def function(self) -> str:
        """The function as Rejections name it: "idna:idna.core:check_label"."""
        return f"{self.package}:{self.module}:{self.qualname}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One self-contained program. `id` hashes `source` and `entry`.

    `parameters` is the JSON Schema of the arguments object, complete enough to rebuild the types from it
    (`exe.inputs`). `source` binds every name that a call uses; standard-library imports only. `places` tells where its
    blocks were written: "attrs 25.3.0 attr/_make.py:120" by the line of `source` that each starts on.
    """

    id: str
    entry: str
    source: str
    parameters: dict[str, Json]
    returns: str
    origin: Origin
    provenance: dict[str, str]
    static: dict[str, int | float] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One input. `arguments` is OData JSON by parameter name; `call` a Python expression for the program's namespace."""

    program: str
    arguments: dict[str, Json]
    call: str
    generator: str = "offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work for the sandbox: one program and the expressions to evaluate in its namespace, each in a process of its own.

    In a `batch` the calls follow each other in one process, each in a fresh namespace of the program, and the process is
    replaced when a call ends it. It is several times cheaper, and only fit to guide or to confirm: what a call leaves
    behind in the standard library, the next one finds. A batch with `cover` loads the program once for all its calls, so
    that what they leave behind in the program is found as well: it guides only.
    """

    source: str
    calls: tuple[str, ...]
    trace: bool = False  # also collect runtime metrics, in a run apart
    batch: bool = False
    witness: int = (
        0  # run each call under other conditions, as numbered by `exe.sandbox.witness`; 0 are the ordinary ones
    )
    cover: bool = (
        False  # also tell which branches each call takes, by probes in the program: fit to guide and to measure
    )
    steps: int = 0  # with `cover`: probes that a call may come to before it is ended as a `timeout`; 0 is no bound
    cpu_seconds: float | None = None  # a limit of CPU time a call below the sandbox's own


OutcomeStatus = Literal[
    "value",  # returned; plain and typed hold the value
    "error",  # raised; plain and typed hold {"code", "message"}
    "timeout",  # wall clock or CPU limit
    "memory",  # address-space limit: killed, or a MemoryError
    "crashed",  # the process vanished without a reply
    "overflow",  # result or output larger than the limit
    "unrepresentable",  # no JSON form; detail names the type
    "impure",  # it tried what the sandbox forbids; detail names the audit event
    "unloadable",  # the program itself does not load; detail is the exception
    "forged",  # the reply is not one that our worker writes
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one evaluation of one call did.

    `plain` is `{"value": …}` or `{"error": {"code", "message"}}` as shown to models, `typed` its exact twin; both are
    None for the other statuses. `unstable` names text in the result that cannot be stable (an address, a temp path).
    `runtime` holds counts only, never times; `cpu_seconds` is kept out of every hash. `lines` are the lines of the
    program's source that a traced run executed; `branches` are the outcomes of `exe.sandbox.branches.sites` that happened,
    `compared` what was met and what would have fitted in its place.
    """

    status: OutcomeStatus
    plain: dict[str, Json] | None = None
    typed: dict[str, Json] | None = None
    detail: str = ""
    unstable: str | None = None
    mutates_arguments: bool | None = None
    runtime: dict[str, int] = field(default_factory=dict)
    lines: tuple[int, ...] = ()
    branches: tuple[int, ...] = ()
    compared: tuple[tuple[str | int | float, str | int | float], ...] = ()
    cpu_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with its ground truth. `id` hashes program, kind, question and arguments."""

    id: str
    program: str
    kind: str
    arguments: dict[str, Json]
    call: str
    expected: dict[str, Json]
    typed: dict[str, Json]
    runtime: dict[str, int | float] = field(default_factory=dict)
    generator: str = "offline"
    question: dict[str, Json] | None = None
    metric: str | None = None
    cluster: str | None = None
    language: str | None = None
    date: str | None = None
    differs: tuple[str, ...] | None = (
        None  # versions of Python under which the outcome is another ("3.13"); never asked
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a task set is made of. `files` maps file name to sha256; `counts` what they hold."""

    name: str
    format: int
    builder: str  # version of this package
    python: str  # "3.11.7"
    generator: str
    seed: int
    sources: tuple[dict[str, Json], ...]
    counts: dict[str, int]
    files: dict[str, str]
    canary: str
    answer_format: Literal["odata", "python"] = "odata"
    rule: Literal["json", "typed", "python"] = "json"
    isolation: str | None = None
    settings: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One reply of a model. Unknown is None, never 0. `usage` keeps the provider's own token counts."""

    text: str
    reasoning: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    usage: dict[str, int | None] = field(default_factory=dict)
    latency_ms: float | None = None
    cost_usd: float | None = None
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call. `parameters` is the JSON Schema of its arguments object."""

    name: str
    description: str
    parameters: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCompletion(Completion):
    """A reply that calls a tool: the arguments of each call, in order, as the text that came. Nobody has checked them."""

    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a text says: a value, an exception, or nothing that can be read.

    `value` is a tree of None, bool, int, float, str, bytes, complex, list, tuple, set, frozenset and dict, as the JSON or Python
    literal in the text reads (sets only from Python literals). `error` is (code, message or None). `lenient` names what
    the reader forgave (`exe/grading` lists the words); empty where the text is the requested form and nothing else.
    """

    status: Literal["value", "error", "unparseable"]
    value: Any = None
    error: tuple[str, str | None] | None = None
    reason: str | None = None  # why unparseable
    source: str | None = None  # the part of the text that was read
    lenient: tuple[str, ...] = ()


Verdict = Literal["correct", "wrong", "unparseable", "truncated", "refused", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """The verdict on one answer under the set's headline rule, and under each rule (None where it does not apply)."""

    verdict: Verdict
    reason: str | None = None
    credit: float = 0.0
    json: bool | None = None
    typed: bool | None = None
    python: bool | None = None
    type_only: bool | None = None  # errors: the exception class alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One (case, sample) of one model, as appended to attempts.jsonl."""

    case: str
    sample: int
    request_sha256: str
    completion: Completion | None
    repair: Completion | None
    answer: Json
    verdict: Verdict
    reason: str | None
    credit: float
    strict: dict[str, bool | None]  # {"json", "typed", "python", "type_only"}
    judge: Json = None
