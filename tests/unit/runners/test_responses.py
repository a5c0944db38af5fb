from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from exe.errors import AuthError, ModelError, ModelUnavailable, RequestError, TransientError, UsageError
from exe.records import Completion, Tool, ToolCompletion
from runners.models import open_model
from runners.models.base import Overloaded, Unreachable
from tests.support.chat_server import Reply, chat_server, closed_port, error_body
from tests.support.failures import told
from tests.support.questions import ask, question

KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # loopback must not go through it


def answered(reply: Reply, **request: Any) -> tuple[Completion, dict[str, Any]]:
    with chat_server(lambda _body, _number: reply) as server:
        try:
            completion = ask(open_model(f"responses:m1@{server.url}"), question(**request))
        finally:
            assert server.keys == [f"Bearer {KEY}"]
        return completion, server.requests[0]


def said(text: str, kind: str = "output_text") -> dict[str, Any]:
    return {"type": "message", "content": [{"type": kind, "text" if kind == "output_text" else kind: text}]}


def test_a_reply_keeps_text_thinking_usage_and_finish_apart() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    usage = {
        "input_tokens": 40,
        "output_tokens": 20,
        "total_tokens": 60,
        "input_tokens_details": {"cached_tokens": 32},
        "output_tokens_details": {"reasoning_tokens": 9},
    }
    found, _ = answered(Reply(message={"output": [thought, said('{"value": '), said("1}")]}, usage=usage))
    assert (found.text, found.reasoning, found.finish_reason, found.model) == ('{"value": 1}', "hm", "stop", "m1")
    assert found.usage == {"input": 40, "output": 20, "cached": 32, "cache_written": None, "reasoning": 9}
    assert found.latency_ms is not None


def test_only_what_is_set_is_sent_and_nothing_is_stored() -> None:
    _, sent = answered(Reply(), temperature=None)
    assert sent == {"model": "m1", "input": [{"role": "user", "content": "What?"}], "store": False}
    _, sent = answered(Reply(), temperature=0.5, max_tokens=9, top_p=0.9, effort="low", seed=3, stop=("\n\n",))
    assert {name: sent[name] for name in sent if name not in ("model", "input", "store")} == {
        "temperature": 0.5,
        "max_output_tokens": 9,
        "top_p": 0.9,
        "reasoning": {"effort": "low", "summary": "auto"},
    }
    assert open_model("responses:m1@http://127.0.0.1:9/v1").settings["left_out"] == ["seed", "stop"]


def test_a_schema_and_a_tool_are_sent_in_this_format() -> None:
    _, sent = answered(Reply(), schema={"type": "object"})
    assert sent["text"] == {"format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}}
    call = {"type": "function_call", "name": "propose", "arguments": '{"a": 1}', "call_id": "c1"}
    tool = Tool(name="propose", description="Hand in.", parameters={"type": "object"})
    found, sent = answered(Reply(message={"output": [call, call]}), tool=tool)
    assert isinstance(found, ToolCompletion)
    assert found.calls == ('{"a": 1}', '{"a": 1}')
    assert sent["tools"][0]["name"] == "propose"
    assert sent["tool_choice"] == {"type": "function", "name": "propose"}


@pytest.mark.parametrize(
    ("members", "text", "finish"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "{}", "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "{}", "content_filter"),
        ({"status": "incomplete", "incomplete_details": None}, "{}", "incomplete"),
        ({"output": [said("I will not.", "refusal")]}, "I will not.", "refusal"),
        ({"output": []}, "", "stop"),
        ({"status": "cancelled"}, "{}", "cancelled"),
        ({"status": 7}, "{}", None),
    ],
)
def test_how_a_reply_ends(members: dict[str, Any], text: str, finish: str | None) -> None:
    found, _ = answered(Reply(text="{}", message=members))
    assert (found.text, found.finish_reason) == (text, finish)


def test_overflow_is_an_answer_of_its_own() -> None:
    body = error_body("Your input exceeds the context window of this model", "context_length_exceeded")
    found, _ = answered(Reply(status=400, body=body))
    assert (found.text, found.finish_reason) == ("", "context_overflow")


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Reply(status=401, body=error_body(f"Incorrect API key provided: {KEY}")), AuthError, "OPENAI_API_KEY"),
        (Reply(status=404, body=error_body("no such model")), ModelUnavailable, "no such model"),
        (Reply(status=429, body=error_body("slow down")), Overloaded, "slow down"),
        (Reply(status=500, body=b"<html>oops</html>"), TransientError, "500"),
        (Reply(status=400, body=error_body("Unsupported parameter: 'temperature'")), RequestError, "temperature"),
        (
            Reply(message={"status": "failed", "error": {"code": "server_error", "message": f"bad {KEY}"}}),
            TransientError,
            "failed: bad",
        ),
        (
            Reply(message={"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}),
            Overloaded,
            "slow",
        ),
        (Reply(message={"status": "failed", "error": None}), TransientError, "no reason given"),
        (Reply(body=b'{"output": ['), TransientError, "no readable reply"),
        (Reply(body=b'{"output": null}'), TransientError, "without output"),
        (Reply(body=b"[]"), TransientError, "without output|no readable reply"),
        (Reply(body=b"text", headers={"Content-Type": "text/plain"}), TransientError, "without output"),
        (Reply(fault="cut"), TransientError, "cannot reach"),
    ],
)
def test_every_failure_has_its_name_and_no_key(
    reply: Reply, kind: type[ModelError], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert KEY not in told(lambda: answered(reply), kind, words) + caplog.text


@pytest.mark.parametrize("output", ['["x"]', "[1]", '[{"type": "message"}]', '[{"type": "message", "content": [3]}]'])
def test_output_of_another_shape_is_an_empty_answer(output: str) -> None:
    found, _ = answered(Reply(message={"output": json.loads(output)}))
    assert found.text == ""


def test_a_closed_port_and_a_name_without_an_address() -> None:
    with pytest.raises(Unreachable, match="cannot reach m1"):
        ask(open_model(f"responses:m1@http://127.0.0.1:{closed_port()}/v1"))
    with pytest.raises(UsageError, match="must begin with http"):
        open_model("responses:m1@host")


def test_a_key_is_needed_for_the_official_service_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert open_model("responses:m1@http://127.0.0.1:9/v1").name == "responses:m1@http://127.0.0.1:9/v1"
    with pytest.raises(AuthError, match="responses:m1 needs a key"):
        open_model("responses:m1")
