"""`exe doctor`: what this machine can do, and what to do where it cannot."""

from __future__ import annotations

import ctypes.util
import importlib.util
import json
import sys
from dataclasses import asdict, dataclass

import click

from exe.cli import options
from exe.errors import CheckFailed, IsolationError
from exe.sandbox.isolation import probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was tried. `needed` ones decide the exit code."""

    what: str
    good: bool
    says: str
    needed: bool = False


@click.command()
@options.json_option
def command(as_json: bool) -> None:
    """Check what this machine can do; exit 1 when it cannot build sets."""
    findings = [
        _python(),
        _isolation(),
        _module("openai", "asking OpenAI-compatible servers", "openai"),
        _module("xllamacpp", "the embedded model", "local"),
        _gomp(),
    ]
    if as_json:
        for finding in findings:
            click.echo(json.dumps(asdict(finding)))
    else:
        for finding in findings:
            click.echo(f"{'ok ' if finding.good else 'NO '} {finding.what}: {finding.says}")
    if any(finding.needed and not finding.good for finding in findings):
        raise CheckFailed("something that building needs is missing, see the lines marked NO")


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(
        what="Python", good=sys.version_info >= (3, 11), says=f"{sys.implementation.name} {version}", needed=True
    )


def _isolation() -> Finding:
    try:
        isolation = probe()
    except IsolationError as error:
        return Finding(what="sandbox", good=False, says=str(error), needed=True)
    return Finding(
        what="sandbox",
        good=True,
        says="; ".join((f"level {isolation.level}, {isolation.name}", *isolation.detail)),
        needed=True,
    )


def _module(name: str, purpose: str, extra: str) -> Finding:
    if importlib.util.find_spec(name) is None:
        return Finding(
            what=name, good=False, says=f"not installed, needed for {purpose}: pip install 'execution-eval[{extra}]'"
        )
    return Finding(what=name, good=True, says=f"installed, for {purpose}")


def _gomp() -> Finding:
    found = sys.platform != "linux" or ctypes.util.find_library("gomp") is not None
    return Finding(
        what="libgomp",
        good=found,
        says="found"
        if found
        else "missing, the embedded model needs it: install libgomp1 (Debian) or libgomp (Fedora)",
    )
