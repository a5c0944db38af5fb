"""Chat Completions as a wire format: what a request says in it, and what a reply in it says."""

from __future__ import annotations

from typing import Any

from exe.errors import TransientError
from exe.records import Completion, Json, Tool
from runners.models.base import Request, clean, with_calls
from runners.models.remote import Failures, count_or_none, member, text_or_none


def messages_of(request: Request) -> list[dict[str, str]]:
    """The conversation as the format has it."""
    return [{"role": message.role, "content": message.content} for message in request.messages]


def parameters_of(request: Request, limit: str = "max_tokens") -> dict[str, Json]:
    """What is set of a request's parameters; `limit` is the server's name for the most tokens of an answer."""
    wanted: dict[str, Json] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        limit: request.max_tokens,
        "seed": request.seed,
        "stop": list(request.stop) or None,
        "reasoning_effort": request.effort,
        "response_format": _held_to(request.schema),
        "tools": None if request.tool is None else [_tool(request.tool)],
        "tool_choice": None if request.tool is None else {"type": "function", "function": {"name": request.tool.name}},
    }
    return {name: value for name, value in wanted.items() if value is not None}


def completion_of(reply: Any, failures: Failures, latency_ms: float | None) -> Completion:
    """The completion in a reply whose shape nobody has checked. Raises TransientError where there is none in it."""
    choices = member(reply, "choices")
    choice: Any = choices[0] if isinstance(choices, list) and choices else None
    message = member(choice, "message")
    if message is None:
        raise TransientError(f"{failures.where} sent a reply without choices{_why(reply, failures)}")
    refusal = member(message, "refusal")
    said = _said(message)
    if said is None:
        raise TransientError(f"{failures.where} sent a message that is no text")
    text, thought = said
    finish = member(choice, "finish_reason")
    completion = Completion(
        text=text or (refusal if isinstance(refusal, str) else ""),
        reasoning=_reasoning(message) or thought,
        finish_reason="refusal" if isinstance(refusal, str) and refusal else text_or_none(finish),
        model=text_or_none(member(reply, "model")),
        usage=_usage(member(reply, "usage")),
        latency_ms=None if latency_ms is None else round(latency_ms, 1),
    )
    return with_calls(completion, _calls(message))


def _why(reply: object, failures: Failures) -> str:
    """What a reply that is an error with status 200 (as some gateways send it) says, for a message."""
    error = member(reply, "error")
    message = error.get("message") if isinstance(error, dict) else error
    return f": {clean(message, failures.secrets)}" if isinstance(message, str) and message.strip() else ""


def _held_to(schema: dict[str, Json] | None) -> dict[str, Json] | None:
    """The response format that holds an answer to a JSON Schema, None for free text."""
    return None if schema is None else {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _tool(tool: Tool) -> Json:
    """A tool as the format has it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _calls(message: Any) -> tuple[str, ...]:
    """The arguments of each call of a function in a message, as texts; what has another shape is none."""
    calls = member(message, "tool_calls")
    functions = [member(call, "function") for call in calls] if isinstance(calls, list) else []
    texts = [member(function, "arguments") for function in functions]
    return tuple(text for text in texts if isinstance(text, str))


def _said(message: Any) -> tuple[str, str | None] | None:
    """Text and thinking of a message's content: a string, nothing, or a list of typed parts; None for anything else."""
    content = member(message, "content")
    if content is None and not isinstance(message, str | list):
        return "", None
    if isinstance(content, str):
        return content, None
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    texts = [part["text"] for part in content if isinstance(part.get("text"), str)]
    thoughts = [text for part in content if part.get("type") == "thinking" for text in _texts(part.get("thinking"))]
    return "".join(texts), "".join(thoughts) or None


def _texts(thinking: Any) -> list[str]:
    """The texts of a thinking part: itself one, or a list of text parts."""
    parts = thinking if isinstance(thinking, list) else [thinking]
    found = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [text for text in found if isinstance(text, str)]


def _reasoning(message: Any) -> str | None:
    """Thinking that a server sends beside the answer: `reasoning_content` (DeepSeek, vLLM, llama.cpp) or `reasoning`."""
    for name in ("reasoning_content", "reasoning"):
        text = member(message, name)
        if isinstance(text, str) and text:
            return text
    return None


def _usage(usage: Any) -> dict[str, int | None]:
    """Token counts under one naming: input, output, cached (of the input), reasoning (of the output)."""
    if usage is None:
        return {}
    prompt, completion = (
        member(usage, "prompt_tokens_details"),
        member(usage, "completion_tokens_details"),
    )
    found = {
        "input": member(usage, "prompt_tokens"),
        "output": member(usage, "completion_tokens"),
        "cached": member(prompt, "cached_tokens"),
        "reasoning": member(completion, "reasoning_tokens"),
    }
    return {name: count_or_none(count) for name, count in found.items()}
