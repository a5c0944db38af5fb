from __future__ import annotations

import email.utils
import importlib.util
import json
import logging
import time
from typing import Any

import pytest

from exe import codec
from exe.errors import AuthError, ModelError, ModelUnavailable, RequestError, TransientError, UsageError
from exe.records import Completion
from runners.models import open_model
from runners.models.base import Overloaded, Unreachable
from runners.models.openai import OpenAIModel
from tests.support.chat_server import Reply, chat_server, closed_port, error_body
from tests.support.failures import told
from tests.support.questions import ask, question

KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # loopback must not go through it


def answered(reply: Reply, timeout: float = 5.0, **request: Any) -> tuple[Completion, dict[str, Any]]:
    with chat_server(lambda _body, _number: reply) as server:
        try:
            completion = ask(OpenAIModel("m1", server.url, timeout=timeout), question(**request))
        finally:
            assert server.keys == [f"Bearer {KEY}"]  # once, whatever happens: retrying is the run's business
        return completion, server.requests[0]


def test_a_completion_keeps_text_thinking_usage_and_finish_apart() -> None:
    usage = {
        "prompt_tokens": 40,
        "completion_tokens": 20,
        "total_tokens": 60,
        "prompt_tokens_details": {"cached_tokens": 32},
        "completion_tokens_details": {"reasoning_tokens": 9},
    }
    reply = Reply(text='{"value": 1}', message={"reasoning_content": "hm"}, usage=usage, finish_reason="length")
    found, _ = answered(reply)
    assert (found.text, found.reasoning, found.finish_reason, found.model) == ('{"value": 1}', "hm", "length", "m1")
    assert found.usage == {"input": 40, "output": 20, "cached": 32, "reasoning": 9}
    assert found.latency_ms is not None
    assert found.cost_usd is None


def test_what_the_server_does_not_count_is_none_not_zero() -> None:
    found, _ = answered(Reply())
    assert found.usage == {"input": 11, "output": 3, "cached": None, "reasoning": None}


def test_only_what_is_set_is_sent() -> None:
    _, sent = answered(Reply(), temperature=None)
    assert set(sent) == {"model", "messages"}
    _, sent = answered(Reply(), temperature=0.5, max_tokens=9, seed=3, stop=("\n\n",), top_p=0.9, effort="low")
    assert {name: sent[name] for name in sent if name not in ("model", "messages")} == {
        "temperature": 0.5,
        "max_tokens": 9,
        "seed": 3,
        "stop": ["\n\n"],
        "top_p": 0.9,
        "reasoning_effort": "low",
    }


def test_a_schema_is_sent_as_the_response_format() -> None:
    _, sent = answered(Reply(), schema={"type": "object"})
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}},
    }


def test_an_empty_answer_is_an_answer() -> None:
    found, _ = answered(Reply(message={"content": None}))
    assert found.text == ""
    assert found.finish_reason == "stop"


def test_a_refusal_is_named() -> None:
    found, _ = answered(Reply(message={"content": None, "refusal": "I will not."}))
    assert (found.text, found.finish_reason) == ("I will not.", "refusal")


@pytest.mark.parametrize(
    ("body", "finish"),
    [
        (error_body("This model's maximum context length is 8 tokens", "context_length_exceeded"), "context_overflow"),
        (error_body("request (9 tokens) exceeds", 400, "exceed_context_size_error"), "context_overflow"),
        (error_body("The response was filtered", "content_filter"), "content_filter"),
    ],
)
def test_overflow_and_filter_are_answers_of_their_own(body: bytes, finish: str) -> None:
    found, _ = answered(Reply(status=400, body=body))
    assert (found.text, found.finish_reason) == ("", finish)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Reply(status=401, body=error_body(f"Incorrect API key provided: {KEY}")), AuthError, "OPENAI_API_KEY"),
        (Reply(status=403, body=error_body("no")), AuthError, "403"),
        (Reply(status=404, body=error_body("The model `m1` does not exist")), ModelUnavailable, "does not exist"),
        (Reply(status=429, body=error_body("slow down")), Overloaded, "slow down"),
        (Reply(status=429, body=error_body("pay", "insufficient_quota")), AuthError, "quota"),
        (Reply(status=500, body=b"<html>oops</html>"), TransientError, "500"),
        (Reply(status=502, body=b""), TransientError, "502"),
        (Reply(status=503, body=error_body("overloaded")), Overloaded, "503"),
        (Reply(status=504, body=b""), TransientError, "504"),
        (Reply(status=529, body=error_body("overloaded")), Overloaded, "529"),
        (Reply(status=400, body=error_body("Unsupported value: 'temperature'")), RequestError, "temperature"),
        (Reply(status=422, body=b'{"detail": "extra"}'), RequestError, "422"),
        (Reply(body=b'{"choices": ['), TransientError, "no readable reply"),
        (Reply(body=b"not json", headers={"Content-Type": "text/plain"}), TransientError, "without choices"),
        (Reply(body=b"[]"), TransientError, "without choices|no readable reply"),
        (Reply(body=b'{"choices": []}'), TransientError, "without choices"),
        (Reply(body=b'{"choices": null}'), TransientError, "without choices"),
        (Reply(body=b'{"choices": [{"index": 0}]}'), TransientError, "without choices"),
        (Reply(body=b'{"choices": ["x"]}'), TransientError, "without choices"),
        (Reply(fault="cut"), TransientError, "cannot reach"),
    ],
    ids=lambda value: str(getattr(value, "status", "")) + str(getattr(value, "body", "") or "")[:24],
)
def test_every_failure_has_its_name_and_no_key(
    reply: Reply, kind: type[ModelError], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert KEY not in told(lambda: answered(reply), kind, words) + caplog.text


def test_a_hanging_server_is_transient() -> None:
    with pytest.raises(TransientError, match="did not answer in time"):
        answered(Reply(fault="hang"), timeout=0.3)


def test_a_closed_port_is_unreachable() -> None:
    with pytest.raises(Unreachable, match="cannot reach m1"):
        ask(OpenAIModel("m1", f"http://127.0.0.1:{closed_port()}/v1"))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], seconds: float) -> None:
    with pytest.raises(TransientError) as caught:
        answered(Reply(status=429, headers=headers, body=error_body("x")))
    assert caught.value.retry_after == seconds


def test_a_wait_until_a_date_is_counted_from_now() -> None:
    before = time.time()
    date = email.utils.formatdate(before + 600_000, usegmt=True)
    with pytest.raises(TransientError) as caught:
        answered(Reply(status=429, headers={"Retry-After": date}, body=error_body("x")))
    assert caught.value.retry_after is not None
    assert -2.0 <= before + 600_000 - time.time() - caught.value.retry_after <= 2.0


@pytest.mark.parametrize("value", ["soon", "-5", "inf", "nan"])
def test_a_senseless_wait_is_no_wait(value: str) -> None:
    with pytest.raises(TransientError) as caught:
        answered(Reply(status=429, headers={"Retry-After": value}, body=error_body("x")))
    assert caught.value.retry_after is None


def test_settings_and_name_hold_the_address_and_never_the_key() -> None:
    model = open_model("openai:org/m@v2@http://127.0.0.1:1/v1/")
    assert model.name == "openai:org/m@v2@http://127.0.0.1:1/v1"
    assert model.settings == {"provider": "openai", "model": "org/m@v2", "base_url": "http://127.0.0.1:1/v1"}
    assert open_model("openai:gpt-x").name == "openai:gpt-x"


def test_the_official_service_gets_its_own_name_for_the_limit() -> None:
    model = open_model("openai:gpt-x")
    assert isinstance(model, OpenAIModel)
    assert model._body(question(max_tokens=5))["max_completion_tokens"] == 5


def test_a_key_is_needed_for_the_official_service_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(AuthError, match="set OPENAI_API_KEY"):
        open_model("openai:gpt-x")
    with chat_server(lambda _body, _number: Reply()) as server:
        assert ask(open_model(f"openai:m1@{server.url}")).text == '{"value": 0}'


@pytest.mark.parametrize(
    "spec",
    [
        "openai:",
        "openai:@http://127.0.0.1:1/v1",
        "openai:m@ftp://x/v1",
        "openai:m@http://user:pw@127.0.0.1/v1",
        "openai:m@http://127.0.0.1/v1?key=1",
        "openai:m@http://",
        "openai:m@http://127.0.0.1:99999/v1",
    ],
)
def test_addresses_that_cannot_be(spec: str) -> None:
    with pytest.raises(UsageError):
        open_model(spec)


def test_a_missing_sdk_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ModelUnavailable, match=r"execution-eval\[openai\]"):
        open_model("openai:m1")


STRANGE_USAGE: list[Any] = [
    "none",
    [1],
    {},
    {"prompt_tokens": True, "completion_tokens": False},
    {"prompt_tokens": -1, "completion_tokens": 1.5},
    {"prompt_tokens": "5", "completion_tokens": None},
    {"prompt_tokens": 10**40, "completion_tokens": [3]},
]


@pytest.mark.parametrize("usage", STRANGE_USAGE, ids=str)
def test_what_is_no_count_is_unknown(usage: Any) -> None:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "1"}}], "usage": usage}
    found, _ = answered(Reply(body=json.dumps(body).encode()))
    assert {name: found.usage.get(name) for name in ("input", "output")} == {"input": None, "output": None}
    assert codec.from_json(Completion, json.loads(codec.dump_line(found)), "completion") == found


CONTENTS: list[tuple[dict[str, Any], str, str | None]] = [
    ({"content": None}, "", None),
    ({}, "", None),
    ({"content": [{"type": "text", "text": '{"value"'}, {"type": "text", "text": ": 1}"}]}, '{"value": 1}', None),
    (
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "1"},
            ]
        },
        "1",
        "hm",
    ),
    ({"content": [{"type": "thinking", "thinking": "hm"}]}, "", "hm"),
    (
        {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "1"}}]},
        "",
        None,
    ),
]


@pytest.mark.parametrize(("message", "text", "reasoning"), CONTENTS)
def test_content_is_text_or_parts(message: dict[str, Any], text: str, reasoning: str | None) -> None:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}]}
    found, _ = answered(Reply(body=json.dumps(body).encode()))
    assert (found.text, found.reasoning) == (text, reasoning)


@pytest.mark.parametrize("message", ["hello", ["a"], {"content": 10}, {"content": ["a"]}, {"content": {"text": "1"}}])
def test_a_message_that_is_no_text_is_no_verdict_on_the_model(message: Any) -> None:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    with pytest.raises(TransientError, match="no text"):
        answered(Reply(body=json.dumps(body).encode()))


def test_a_body_nested_without_end_is_unreadable() -> None:
    with pytest.raises(TransientError, match="no readable reply"):
        answered(Reply(body=b"[" * 100_000))


def test_an_error_with_status_200_is_quoted() -> None:
    with pytest.raises(TransientError, match="without choices: out of credit"):
        answered(Reply(body=b'{"error": {"message": "out of credit", "code": 402}}'))
