"""The block lists of `exe/data/blocklists.toml`, and the one question that is asked of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Lists:
    """The block lists, ready to look names up in."""

    names: dict[str, str]  # dotted name of the standard library → reason, "" where pure
    own: dict[str, str]  # global name of the program itself → reason
    arguments: dict[str, int]  # dotted name → pure from so many arguments on
    packages: tuple[tuple[str, str], ...]  # (pattern, reason)
    vendored: frozenset[str]


@lru_cache(maxsize=1)
def lists() -> Lists:
    """The lists, read once."""
    data = files("exe").joinpath("data")
    raw = tomllib.loads(data.joinpath("blocklists.toml").read_text("utf-8"))
    folders = tomllib.loads(data.joinpath("folders.toml").read_text("utf-8"))
    names: dict[str, str] = {
        name: reason
        for table in ("imports", "functions", "variables")
        for reason, entries in raw[table].items()
        for name in entries
    }
    own = {name: reason for name, reason in names.items() if name.startswith("__")}
    names.update(dict.fromkeys(raw["pure"]["names"], ""))
    packages = tuple((pattern, reason) for reason, patterns in raw["packages"].items() for pattern in patterns)
    return Lists(names, own, raw["pure"]["arguments"], packages, frozenset(folders["vendored"]))


def banned(target: str) -> str:
    """The reason for which a dotted name is banned, by the longest entry that leads it; "" where it is not."""
    parts = target.split(".")
    for length in range(len(parts), 0, -1):
        reason = lists().names.get(".".join(parts[:length]))
        if reason is not None:
            return reason
    return ""
