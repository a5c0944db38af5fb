from __future__ import annotations

import importlib.util
import json
import logging
from typing import Any

import pytest

from exe.errors import AuthError, ModelError, ModelUnavailable, RequestError, TransientError, UsageError
from exe.grading.grade import judge_completion
from exe.records import Completion, Message
from runners.models import open_model
from runners.models.anthropic import AnthropicModel
from runners.models.base import Overloaded, Request, Unreachable
from tests.support.chat_server import Reply, chat_server, closed_port
from tests.support.failures import told
from tests.support.questions import ask, question
from tests.support.tasks import case

KEY = "sk-ant-test-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # loopback must not go through it


def answered(reply: Reply, timeout: float = 5.0, **request: Any) -> tuple[Completion, dict[str, Any]]:
    with chat_server(lambda _body, _number: reply) as server:
        try:
            completion = ask(AnthropicModel("m1", server.url.removesuffix("/v1"), timeout=timeout), question(**request))
        finally:
            assert server.keys == [f"Bearer {KEY}"]  # once, whatever happens: retrying is the run's business
        return completion, server.requests[0]


def error_body(kind: str, message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


def test_text_and_thinking_are_kept_apart_and_all_input_is_counted() -> None:
    blocks = [
        {"type": "thinking", "thinking": "two and", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": '{"value"'},
        {"type": "text", "text": ": 4}"},
    ]
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 7,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 12},
    }
    found, _ = answered(Reply(message={"content": blocks}, usage=usage))
    assert (found.text, found.reasoning, found.finish_reason, found.model) == (
        '{"value": 4}',
        "two and",
        "end_turn",
        "m1",
    )
    assert found.usage == {"input": 42, "output": 20, "cached": 30, "cache_written": 7, "reasoning": 12}
    assert found.latency_ms is not None


def test_what_is_not_counted_is_unknown() -> None:
    found, _ = answered(Reply())
    assert found.usage == {"input": 11, "output": 3, "cached": None, "cache_written": None, "reasoning": None}


def test_only_what_is_set_is_sent_and_system_text_stands_apart() -> None:
    _, sent = answered(Reply(), temperature=None)
    assert set(sent) == {"model", "messages", "max_tokens"}
    _, sent = answered(Reply(), temperature=0.5, top_p=0.9, max_tokens=9, stop=("x",), effort="low", seed=3)
    assert {name: sent[name] for name in sent if name not in ("model", "messages")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 9,
        "stop_sequences": ["x"],
        "output_config": {"effort": "low"},
        "thinking": {"type": "adaptive", "display": "summarized"},
    }
    _, sent = answered(Reply(), schema={"type": "object"})
    assert sent["output_config"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    turns = (Message(role="system", content="Be brief."), Message(role="user", content="1+1"))
    with chat_server(lambda _body, _number: Reply()) as server:
        ask(AnthropicModel("m1", server.url.removesuffix("/v1")), Request(case="c", sample=0, messages=turns))
    assert server.requests[0]["system"] == "Be brief."
    assert server.requests[0]["messages"] == [{"role": "user", "content": "1+1"}]


@pytest.mark.parametrize(
    ("stop_reason", "verdict"),
    [
        ("max_tokens", "truncated"),
        ("refusal", "refused"),
        ("model_context_window_exceeded", "truncated"),
        ("end_turn", "unparseable"),
    ],
)
def test_how_an_answer_ended_is_a_verdict_of_its_own(stop_reason: str, verdict: str) -> None:
    found, _ = answered(Reply(text="I think", finish_reason=stop_reason))
    assert judge_completion(found, case(1, 0), format="odata", rule="json")[1].verdict == verdict


@pytest.mark.parametrize(
    ("body", "finish"),
    [
        (error_body("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "context_overflow"),
        (error_body("invalid_request_error", "Output blocked by content filtering policy"), "content_filter"),
    ],
)
def test_overflow_and_filter_are_answers_of_their_own(body: bytes, finish: str) -> None:
    found, _ = answered(Reply(status=400, body=body))
    assert (found.text, found.finish_reason) == ("", finish)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Reply(status=401, body=error_body("authentication_error", f"bad key {KEY}")), AuthError, "ANTHROPIC_API_KEY"),
        (Reply(status=404, body=error_body("not_found_error", "model: m1")), ModelUnavailable, "model: m1"),
        (Reply(status=429, body=error_body("rate_limit_error", "slow down")), Overloaded, "slow down"),
        (Reply(status=529, body=error_body("overloaded_error", "Overloaded")), Overloaded, "529"),
        (Reply(status=500, body=error_body("api_error", "oops")), TransientError, "500: oops"),
        (
            Reply(status=400, body=error_body("invalid_request_error", "Your credit balance is too low")),
            AuthError,
            "quota",
        ),
        (Reply(status=400, body=error_body("invalid_request_error", "temperature: no")), RequestError, "temperature"),
        (Reply(body=b'{"content": ['), TransientError, "no readable reply"),
        (Reply(body=b"not json", headers={"Content-Type": "text/plain"}), TransientError, "without content"),
        (Reply(body=b"{}"), TransientError, "without content"),
        (Reply(body=b'{"content": null}'), TransientError, "without content"),
        (Reply(fault="cut"), TransientError, "cannot reach"),
    ],
    ids=lambda value: str(getattr(value, "status", "")) + str(getattr(value, "body", "") or "")[:24],
)
def test_every_failure_has_its_name_and_no_key(
    reply: Reply, kind: type[ModelError], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert KEY not in told(lambda: answered(reply), kind, words) + caplog.text


def test_the_wait_that_a_server_asks_for() -> None:
    reply = Reply(status=429, headers={"retry-after": "7"}, body=error_body("rate_limit_error", "slow"))
    with pytest.raises(Overloaded) as caught:
        answered(reply)
    assert caught.value.retry_after == 7.0


def test_silence_and_a_closed_port() -> None:
    with pytest.raises(TransientError, match="did not answer in time"):
        answered(Reply(fault="hang"), timeout=0.3)
    with pytest.raises(Unreachable, match="cannot reach m1"):
        ask(AnthropicModel("m1", f"http://127.0.0.1:{closed_port()}"))


def test_name_and_settings_hold_no_key() -> None:
    model = open_model("anthropic:m1@http://127.0.0.1:9")
    assert model.name == "anthropic:m1@http://127.0.0.1:9"
    assert model.settings == {"provider": "anthropic", "model": "m1", "base_url": "http://127.0.0.1:9"}
    assert open_model("anthropic:m1").name == "anthropic:m1"


def test_a_key_is_needed_for_the_official_service_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    open_model("anthropic:m1@http://127.0.0.1:9")
    with pytest.raises(AuthError, match="ANTHROPIC_API_KEY"):
        open_model("anthropic:m1")
    with pytest.raises(UsageError, match="names no model"):
        open_model("anthropic:")


def test_a_missing_sdk_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ModelUnavailable, match=r"execution-eval\[anthropic\]"):
        open_model("anthropic:m1")
