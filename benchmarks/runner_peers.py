"""The other side of `runner.py`: the same questions asked by bare clients and put into the files of other harnesses.

    python benchmarks/runner_peers.py sdk|sdk_aiohttp|aiohttp QUESTIONS.json BASE_URL CONCURRENCY

QUESTIONS.json is a list of {"messages", "max_tokens", "temperature"}. A bare client asks them all with so many workers, reads each
text and drops it. Status 3 where a library is missing. Runs with nothing of ours loaded.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

UNAVAILABLE = 3
Ask = Callable[[dict[str, Any]], Awaitable[str]]

INSPECT_TASK = """
import json, pathlib
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import match
from inspect_ai.solver import generate

@task
def stub():
    rows = json.loads(pathlib.Path({path!r}).read_text())
    kinds = {{"user": ChatMessageUser, "system": ChatMessageSystem}}
    samples = [
        Sample(input=[kinds[one["role"]](content=one["content"]) for one in row["messages"]], target="7") for row in rows
    ]
    config = GenerateConfig(max_tokens=rows[0]["max_tokens"], temperature=rows[0]["temperature"])
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match(), config=config)
"""
LM_EVAL_TASK = """\
task: stub
dataset_path: json
dataset_kwargs:
  data_files: {path}
test_split: train
output_type: generate_until
doc_to_text: prompt
doc_to_target: target
generation_kwargs:
  until: []
  max_gen_toks: {max_tokens}
  temperature: {temperature}
  do_sample: false
metric_list:
  - metric: exact_match
"""


def main() -> int:
    """Ask all questions with one bare client."""
    kind, path, url, concurrency = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        questions = json.load(file)
    try:
        asyncio.run(everything(kind, questions, url, int(concurrency)))
    except ImportError as error:
        print(error, file=sys.stderr)
        return UNAVAILABLE
    return 0


async def everything(kind: str, questions: list[dict[str, Any]], url: str, concurrency: int) -> None:
    """A bounded number of workers over one shared iterator."""
    todo: Iterator[dict[str, Any]] = iter(questions)
    ask, close = by_aiohttp(url) if kind == "aiohttp" else by_sdk(url, aiohttp=kind == "sdk_aiohttp")

    async def work() -> None:
        for question in todo:
            assert await ask(question)

    await asyncio.gather(*(work() for _ in range(concurrency)))
    await close()


def by_sdk(url: str, *, aiohttp: bool) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """The official SDK, with its own transport or with that on aiohttp."""
    import openai

    if aiohttp:
        import aiohttp as _installed  # noqa: F401 (the SDK says so only at the first request)
    http = openai.DefaultAioHttpClient() if aiohttp else openai.DefaultAsyncHttpxClient()
    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=http)

    async def ask(question: dict[str, Any]) -> str:
        reply = await client.chat.completions.create(model="stub", **question)
        return reply.choices[0].message.content or ""

    return ask, client.close


def by_aiohttp(url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """No SDK: JSON over aiohttp."""
    import aiohttp

    session: list[Any] = []

    async def ask(question: dict[str, Any]) -> str:
        if not session:
            session.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        async with session[0].post(f"{url}/chat/completions", json={"model": "stub", **question}) as response:
            reply = await response.json()
            text: str = reply["choices"][0]["message"]["content"]
            return text

    async def close() -> None:
        for one in session:
            await one.close()

    return ask, close


if __name__ == "__main__":
    sys.exit(main())
