"""What a model is asked about one case, for `exe show --prompt`: the first question of a run, exactly as it goes out."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from exe import codec
from exe.cli.text import printable
from exe.records import Case
from exe.taskset import TaskSet
from runners.job import RunSettings, prepare
from runners.models import Context, open_model
from runners.models.base import Request
from runners.prompt import Style


def as_sent(tasks: TaskSet, case: Case, spec: str, style: Style, *, as_json: bool) -> str:
    """The messages and parameters with the model's own defaults; nothing is sent. Raises what `open_model` and `prepare` raise."""
    alone = replace(tasks, cases=(case,))
    model = open_model(spec, Context(cases=tasks.known(), answer_format=tasks.manifest.answer_format))
    try:
        job = prepare(model, alone, RunSettings(style=style))
        request = job.request(case, 0)
        sha256 = request.sha256(model.settings)
    finally:
        asyncio.run(model.aclose())
    parameters = _parameters(request)
    if as_json:
        messages = [codec.to_json(message) for message in request.messages]
        return json.dumps({"model": model.name, "request_sha256": sha256, "messages": messages, **parameters})
    lines = [f"# {model.name}, request {sha256[:16]}"]
    lines += [f"# {name}: {json.dumps(value)}" for name, value in parameters.items()]
    for message in request.messages:
        lines += ["", f"# --- {message.role}", printable(message.content.rstrip("\n"))]
    return "\n".join(lines)


def _parameters(request: Request) -> dict[str, object]:
    """What is set beside the messages."""
    found = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "stop": list(request.stop) or None,
        "effort": request.effort,
        "schema": request.schema,
    }
    return {name: value for name, value in found.items() if value is not None}
