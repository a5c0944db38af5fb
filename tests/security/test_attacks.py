"""Each attack, behind each wall that this machine can build: not achieved, and named for what it is."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from exe.records import Job, Outcome
from exe.sandbox import isolation
from exe.sandbox.host import Limits, Sandbox
from exe.sandbox.isolation import Isolation
from tests.security.attacks import ATTACKS, Attack

LIMITS = Limits(wall_seconds=1.0, cpu_seconds=0.5, memory_bytes=96 << 20, result_bytes=1 << 16, output_bytes=1 << 20)
LEVELS = {level.level: level for level in isolation.candidates()}


@pytest.fixture(scope="module", params=[1, 2, 3], ids=lambda level: f"level{level}")
def walls(request: pytest.FixtureRequest) -> Isolation:
    level = LEVELS.get(request.param)
    if level is None:
        pytest.skip(f"no bwrap for level {request.param}")
    facts = isolation.attempt(level)
    if isinstance(facts, str):
        pytest.skip(f"level {request.param} cannot be had here: {facts}")
    return level


class Battle:
    """All attacks, run once behind one kind of wall, and what was to be seen of them outside."""

    def __init__(self, walls: Isolation, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o777)
        os.environ["EXE_SECRET"] = "achieved"
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.setblocking(False)
            port = server.getsockname()[1]
            jobs = [
                Job(
                    source=attack.source.replace("{path}", str(folder / attack.name)).replace("{port}", str(port)),
                    calls=("f()",),
                )
                for attack in ATTACKS
            ]
            with Sandbox(workers=2, limits=LIMITS, isolation_level=walls) as sandbox:
                outcomes = [outcome for (outcome,) in sandbox.execute(jobs)]
                (self.afterwards,) = next(sandbox.execute([Job(source="def f(): return 'well'", calls=("f()",))]))
            try:
                server.accept()
                self.visited = True
            except BlockingIOError:
                self.visited = False
        self.outcomes = {attack.name: outcome for attack, outcome in zip(ATTACKS, outcomes, strict=True)}


@pytest.fixture(scope="module")
def battle(walls: Isolation, tmp_path_factory: pytest.TempPathFactory) -> Battle:
    return Battle(walls, tmp_path_factory.mktemp("prey"))


def shown(outcome: Outcome) -> str:
    if outcome.plain is None:
        return outcome.detail
    return repr(outcome.plain["value"]) if "value" in outcome.plain else outcome.plain["error"]["code"]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_is_named(attack: Attack, battle: Battle) -> None:
    outcome = battle.outcomes[attack.name]
    assert outcome.status in attack.allowed, outcome
    assert "achieved" not in shown(outcome)
    if outcome.status == attack.allowed[0]:
        assert attack.detail in shown(outcome)
    assert not (battle.folder / attack.name).exists()


def test_nobody_came_through_the_network(battle: Battle) -> None:
    assert not battle.visited


def test_the_sandbox_is_well_afterwards(battle: Battle) -> None:
    assert battle.afterwards.plain == {"value": "well"}
