from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
from typing import Any

import pytest

from exe.errors import AuthError, ModelError, ModelUnavailable, RequestError, TransientError, UsageError
from exe.records import Completion
from runners.models import open_model
from runners.models.base import Overloaded, Unreachable
from tests.support.chat_server import Reply, chat_server, closed_port, error_body
from tests.support.failures import told
from tests.support.questions import ask, question

pytestmark = pytest.mark.filterwarnings(
    "ignore:Items? .* on TypedDict:UserWarning"
)  # of litellm's own types, when first used
KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def answered(
    reply: Reply, timeout: float = 5.0, provider: str = "openai", **request: Any
) -> tuple[Completion, dict[str, Any]]:
    with chat_server(lambda _body, _number: reply) as server:
        url = server.url if provider == "openai" else server.url.removesuffix("/v1")
        completion = None
        try:
            completion = ask(open_model(f"litellm:{provider}/m1@{url}", _context(timeout)), question(**request))
        finally:
            assert len(server.requests) == 1  # once, whatever happens: retrying is the run's business
        return completion, server.requests[0]


def _context(timeout: float) -> Any:
    from runners.models import Context

    return Context(timeout=timeout)


def test_a_completion_keeps_text_thinking_usage_and_finish_apart() -> None:
    usage = {
        "prompt_tokens": 40,
        "completion_tokens": 20,
        "total_tokens": 60,
        "prompt_tokens_details": {"cached_tokens": 32},
        "completion_tokens_details": {"reasoning_tokens": 9},
    }
    reply = Reply(text='{"value": 1}', message={"reasoning_content": "hm"}, usage=usage, finish_reason="length")
    found, sent = answered(reply, max_tokens=9)
    assert (found.text, found.reasoning, found.finish_reason) == ('{"value": 1}', "hm", "length")
    assert {name: found.usage[name] for name in ("input", "output", "cached", "reasoning")} == {
        "input": 40,
        "output": 20,
        "cached": 32,
        "reasoning": 9,
    }
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("m1", 0.0, 9)


def test_another_wire_format_is_spoken() -> None:
    found, sent = answered(Reply(text="4"), provider="anthropic", max_tokens=5)
    assert (found.text, found.finish_reason, found.usage["input"], found.usage["output"]) == ("4", "stop", 11, 3)
    assert sent["max_tokens"] == 5


def test_what_the_provider_does_not_know_is_left_out_and_said() -> None:
    model = open_model("litellm:anthropic/m1@http://127.0.0.1:9")
    assert "seed" in model.settings["left_out"]
    assert "temperature" not in model.settings["left_out"]
    assert KEY not in str(model.settings) + model.name
    _, sent = answered(Reply(), provider="anthropic", seed=3)
    assert "seed" not in sent


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Reply(status=401, body=error_body(f"Incorrect API key provided: {KEY}")), AuthError, "401"),
        (Reply(status=404, body=error_body("The model `m1` does not exist")), ModelUnavailable, "does not exist"),
        (Reply(status=429, body=error_body("slow down")), Overloaded, "slow down"),
        (Reply(status=500, body=b"<html>oops</html>"), TransientError, "500"),
        (Reply(status=503, body=error_body("overloaded")), Overloaded, "503"),
        (Reply(status=400, body=error_body("Unsupported value: 'temperature'")), RequestError, "temperature"),
        (Reply(body=b'{"choices": ['), TransientError, "m1"),
        (Reply(body=b'{"choices": []}'), TransientError, "m1"),
        (Reply(fault="cut"), TransientError, "m1"),
    ],
    ids=lambda value: str(getattr(value, "status", "")) + str(getattr(value, "body", "") or "")[:24],
)
def test_every_failure_has_its_name_and_no_key(
    reply: Reply, kind: type[ModelError], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert KEY not in told(lambda: answered(reply), kind, words)


def test_overflow_is_an_answer_of_its_own() -> None:
    body = error_body("This model's maximum context length is 10 tokens", "context_length_exceeded")
    found, _ = answered(Reply(status=400, body=body))
    assert (found.text, found.finish_reason) == ("", "context_overflow")


def test_the_wait_that_a_server_asks_for() -> None:
    with pytest.raises(Overloaded) as caught:
        answered(Reply(status=429, headers={"Retry-After": "7"}, body=error_body("slow")))
    assert caught.value.retry_after == 7.0


def test_silence_and_a_closed_port() -> None:
    with pytest.raises(TransientError, match="did not answer in time"):
        answered(Reply(fault="hang"), timeout=0.5)
    with pytest.raises(Unreachable, match="cannot reach openai/m1"):
        ask(open_model(f"litellm:openai/m1@http://127.0.0.1:{closed_port()}/v1"))


def test_a_name_without_a_provider_is_refused() -> None:
    with pytest.raises(UsageError, match="litellm:PROVIDER/NAME"):
        open_model("litellm:nothing-known")
    with pytest.raises(UsageError, match="names no model"):
        open_model("litellm:")


def test_nothing_is_fetched_when_it_is_loaded() -> None:
    script = (
        "import socket\n"
        "def refuse(*_a, **_k): raise SystemExit('a connection was tried')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "from runners.models import open_model\n"
        "open_model('litellm:openai/m1@http://127.0.0.1:9/v1')\n"
        "print('quiet')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip().splitlines()[-1:] == ["quiet"], done.stderr


def test_a_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ModelUnavailable, match=r"execution-eval\[litellm\]"):
        open_model("litellm:openai/m1")
