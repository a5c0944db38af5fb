"""A request with a tool, over a real socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from exe.records import Completion, Message, Tool, ToolCompletion
from runners.models import Model, Request, open_model
from tests.support.chat_server import Reply, chat_server

TOOL = Tool(name="hand_in", description="Hand in.", parameters={"type": "object", "properties": {}})
REQUEST = Request(case="c", sample=0, messages=(Message(role="user", content="Go."),), tool=TOOL)


def ask(model: Model, request: Request = REQUEST) -> Completion:
    async def once() -> Completion:
        try:
            return await model.complete(request)
        finally:
            await model.aclose()

    return asyncio.run(once())


def test_chat_completions_get_the_tool_and_give_its_calls() -> None:
    calls = [
        {"id": "1", "type": "function", "function": {"name": "hand_in", "arguments": '{"a": 1}'}},
        {"id": "2", "type": "function", "function": {"name": "hand_in", "arguments": "{broken"}},
    ]
    with chat_server(lambda _body, _number: Reply(message={"content": None, "tool_calls": calls})) as server:
        found = ask(open_model(f"openai:m@{server.url}"))
    assert isinstance(found, ToolCompletion)
    assert found.calls == ('{"a": 1}', "{broken")
    (body,) = server.requests
    assert body["tools"] == [
        {"type": "function", "function": {"name": "hand_in", "description": "Hand in.", "parameters": TOOL.parameters}}
    ]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "hand_in"}}


@pytest.mark.parametrize("calls", [None, [], "text", [None, {"function": {"arguments": 5}}, {"function": None}]])
def test_a_reply_without_whole_calls_is_a_plain_completion(calls: Any) -> None:
    with chat_server(lambda _body, _number: Reply(text="hello", message={"tool_calls": calls})) as server:
        found = ask(open_model(f"openai:m@{server.url}"))
    assert type(found) is Completion
    assert found.text == "hello"


def test_messages_get_the_tool_and_give_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    content = [
        {"type": "text", "text": "Here."},
        {"type": "tool_use", "id": "1", "name": "hand_in", "input": {"a": [1]}},
    ]
    with chat_server(lambda _body, _number: Reply(message={"content": content})) as server:
        found = ask(open_model(f"anthropic:m@{server.url.removesuffix('/v1')}"))
    assert isinstance(found, ToolCompletion)
    assert [json.loads(call) for call in found.calls] == [{"a": [1]}]
    assert server.requests[0]["tool_choice"] == {"type": "tool", "name": "hand_in"}
    assert server.requests[0]["tools"][0]["input_schema"] == TOOL.parameters


def test_without_a_tool_a_request_is_what_it_was() -> None:
    plain = Request(case="c", sample=0, messages=REQUEST.messages)
    assert plain.sha256({}) != REQUEST.sha256({})
    with chat_server(lambda _body, _number: Reply()) as server:
        ask(open_model(f"openai:m@{server.url}"), plain)
    assert not {"tools", "tool_choice"} & set(server.requests[0])
