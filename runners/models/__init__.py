"""Providers: one file each behind one small protocol, and one line each in the table that MODEL is looked up in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from exe.errors import UsageError
from runners.models import anthropic, known, litellm, local, openai, replay, responses
from runners.models.base import Model, Request, Traits

__all__ = ["FORMS", "Context", "Model", "Request", "Traits", "check_form", "open_model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What some providers need to open: the task set's cases, its answer format, a time-out, a place for notes."""

    cases: known.Known = field(default_factory=dict)
    answer_format: known.AnswerFormat = "odata"
    timeout: float = 600.0  # seconds a request
    notify: Callable[[str], None] = lambda _text: None


def _local(rest: str, context: Context) -> Model:
    return local.open_local(rest, timeout=context.timeout, notify=context.notify)


def _openai(rest: str, context: Context) -> Model:
    name, url = _name_and_url("openai", rest)
    return openai.OpenAIModel(name, url, timeout=context.timeout)


def _responses(rest: str, context: Context) -> Model:
    name, url = _name_and_url("responses", rest)
    return responses.ResponsesModel(name, url, timeout=context.timeout)


def _anthropic(rest: str, context: Context) -> Model:
    name, url = _name_and_url("anthropic", rest)
    return anthropic.AnthropicModel(name, url, timeout=context.timeout)


def _litellm(rest: str, context: Context) -> Model:
    name, url = _name_and_url("litellm", rest)
    return litellm.LitellmModel(name, url, timeout=context.timeout)


def _name_and_url(scheme: str, rest: str) -> tuple[str, str | None]:
    """NAME and BASE_URL of `NAME[@BASE_URL]`. Raises UsageError."""
    name, _, url = re.sub(r"@(?=https?://)", "\0", rest, count=1).partition("\0")
    if not name:
        raise UsageError(f"{scheme}: names no model; write {scheme}:NAME or {scheme}:NAME@http://HOST:PORT/v1")
    if "@" in name and not url and scheme in ("openai", "responses"):
        raise UsageError(f"{scheme}:{rest}: what follows @ must begin with http:// or https://")
    return name, url or None


def _replay(rest: str, context: Context) -> Model:
    if not rest:
        raise UsageError("replay: names no file; write replay:FILE.jsonl")
    return replay.open_replay(Path(rest), context.cases or None)


def _baseline(rest: str, context: Context) -> Model:
    writers = {"null": known.null_text, "echo": known.echo_text}
    if rest not in writers:
        raise UsageError(f"baseline:{rest} does not exist; there are baseline:null and baseline:echo")
    return known.KnownModel(
        name=f"baseline:{rest}", write=writers[rest], known=context.cases, answer_format=context.answer_format
    )


def _oracle(rest: str, context: Context) -> Model:
    if rest:
        raise UsageError("oracle takes no name")
    return known.KnownModel(
        name="oracle", write=known.truth_text, known=context.cases, answer_format=context.answer_format
    )


PROVIDERS: tuple[tuple[str, str, Callable[[str, Context], Model]], ...] = (
    ("local", "local[:NAME|:PATH.gguf]", _local),
    ("openai", "openai:NAME[@BASE_URL]", _openai),
    ("responses", "responses:NAME[@BASE_URL]", _responses),
    ("anthropic", "anthropic:NAME[@BASE_URL]", _anthropic),
    ("litellm", "litellm:PROVIDER/NAME[@BASE_URL]", _litellm),
    ("replay", "replay:FILE.jsonl", _replay),
    ("baseline", "baseline:null|echo", _baseline),
    ("oracle", "oracle", _oracle),
)
FORMS = tuple(form for _, form, _ in PROVIDERS)


def check_form(spec: str) -> None:
    """Raise UsageError, listing the forms that work, where MODEL has none of them; nothing is opened or asked."""
    if spec.partition(":")[0] not in {name for name, _, _ in PROVIDERS}:
        raise UsageError(f"unknown model {spec!r}; these work: {', '.join(FORMS)}")


def open_model(spec: str, context: Context | None = None) -> Model:
    """Open the model that MODEL names.

    Raises UsageError for an unknown form (the message lists those that work), InputError for a bad replay file,
    AuthError without a needed key, ModelUnavailable where SDK, engine or weights cannot be had.
    """
    check_form(spec)
    scheme, _, rest = spec.partition(":")
    opener = next(opener for name, _, opener in PROVIDERS if name == scheme)
    return opener(rest, context or Context())
