"""Which licence a package has, from its metadata, and whether that licence is permissive.

Order: License-Expression; trove classifiers that agree with the License text; a short License text; a classifier alone.
Licence files only break ties within a family ("BSD License": which one?), since notices and the licences of vendored
code in them mislead. What is left open is None with the reason. Expressions are SPDX (PEP 639); the facts are data in
`exe/data/licenses.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

_SHORT = 120  # characters of a License text that names a licence rather than quoting it
_LONGEST = 1000  # characters of an expression; the longest one seen in earnest has under 300
_WORDS = frozenset(
    ["the", "license", "licence", "licensed", "software", "version", "under", "open", "source", "style", "revised"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class License:
    """A licence as an SPDX expression, or None and why; `reason` says what decided."""

    expression: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class _Data:
    permissive: frozenset[str]
    suspect: tuple[str, ...]
    empty: frozenset[str]
    families: dict[str, frozenset[str]]
    classifiers: dict[str, str]
    texts: dict[str, str]
    phrases: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]


@lru_cache(maxsize=1)
def _data() -> _Data:
    raw: dict[str, Any] = tomllib.loads(files("exe").joinpath("data/licenses.toml").read_text("utf-8"))
    return _Data(
        permissive=frozenset(identifier.lower() for identifier in raw["permissive"]),
        suspect=tuple(raw["suspect"]),
        empty=frozenset(raw["empty"]),
        families={name: frozenset(members) for name, members in raw["families"].items()},
        classifiers=raw["classifiers"],
        texts=raw["texts"],
        phrases=tuple((p["id"], tuple(p["has"]), tuple(p.get("lacks", ()))) for p in raw["phrases"]),
    )


def permissive(expression: str | None) -> bool:
    """Whether all use of the code can rest on permissive licences.

    OR is a choice: any permissive side will do. AND binds to all sides. An exception after WITH only grants more, so
    the licence before it decides. Not an SPDX expression: False.
    """
    if expression is None:
        return False
    canonical = _canonical(expression)
    return canonical is not None and _any(re.findall(r"[()]|[^\s()]+", canonical))


def _canonical(expression: str) -> str | None:
    """The SPDX expression in its canonical spelling, None where it is not one."""
    if len(expression) > _LONGEST:
        return None
    try:
        return canonicalize_license_expression(expression)
    except InvalidLicenseExpression:
        return None


def _any(tokens: list[str]) -> bool:
    """Evaluate `a OR b OR …`, consuming `tokens` from the left up to a closing parenthesis."""
    result = _all(tokens)
    while tokens and tokens[0] == "OR":
        tokens.pop(0)
        result = _all(tokens) or result
    return result


def _all(tokens: list[str]) -> bool:
    result = _one(tokens)
    while tokens and tokens[0] == "AND":
        tokens.pop(0)
        result = _one(tokens) and result
    return result


def _one(tokens: list[str]) -> bool:
    token = tokens.pop(0)
    if token == "(":
        result = _any(tokens)
        tokens.pop(0)
        return result
    if tokens and tokens[0] == "WITH":
        del tokens[:2]
    return token.removesuffix("+").lower() in _data().permissive


def recognise(text: str) -> str | None:
    """The SPDX identifier of a whole licence text; None when it is none of those known, or several."""
    folded = " ".join(text.lower().split())
    found = [
        identifier
        for identifier, has, lacks in _data().phrases
        if all(phrase in folded for phrase in has) and not any(phrase in folded for phrase in lacks)
    ]
    return found[0] if len(found) == 1 else None


def read_license(
    expression: str | None, classifiers: Sequence[str], text: str | None, license_files: Iterable[str] = ()
) -> License:
    """The licence that metadata states: License-Expression, classifiers, License text, and texts of licence files."""
    if expression and expression.strip():
        canonical = _canonical(expression)
        if canonical is None:
            return License(expression=None, reason=f"License-Expression {_quote(expression)} is not valid SPDX")
        return License(expression=canonical, reason="License-Expression")
    told = _classified(classifiers)
    if isinstance(told, License):
        return told
    stated = _stated(text)
    if told and stated:
        return _agreed(told, stated, text or "", license_files)
    if stated:
        return License(expression=_settle(stated, license_files), reason="License text")
    if text and _suspect(text):
        return License(expression=None, reason=f"License text {_quote(text)} is not understood")
    if told:
        if len(told) > 1 and not all(permissive(name) for name in told):
            return License(expression=None, reason=f"classifiers name several licences: {', '.join(told)}")
        parts = sorted({_settle(name, license_files) for name in told})
        return License(expression=" AND ".join(parts), reason="classifier alone")
    if text and " ".join(text.lower().split()) not in _data().empty:
        return License(expression=None, reason=f"License text {_quote(text)} is not understood")
    return License(expression=None, reason="the metadata name no licence")


def _classified(classifiers: Sequence[str]) -> list[str] | License:
    """Identifiers or families that the licence classifiers name; a License where one of them is unknown."""
    names: list[str] = []
    for classifier in classifiers:
        parts = [part.strip() for part in classifier.split("::")]
        if parts[0] != "License" or parts[-1] in {"OSI Approved", "License"}:
            continue
        name = _data().classifiers.get(parts[-1].lower())
        if name is None:
            return License(expression=None, reason=f"classifier {_quote(classifier)} is not known as permissive")
        if name not in names:
            names.append(name)
    return names


def _stated(text: str | None) -> str | None:
    """The identifier, family or expression that a License text names, if it is understood."""
    if not text or not text.strip():
        return None
    if len(text) > _SHORT or text.strip().count("\n") > 1:
        return recognise(text)
    known = _data().texts.get(_key(text))
    if known is not None:
        return known
    canonical = _canonical(text)
    if canonical is not None:
        return canonical
    parts = [_data().texts.get(_key(part)) or _canonical(part) for part in re.split(r"\s*/\s*|\s+or\s+", text)]
    if len(parts) > 1 and all(part is not None and permissive(part) for part in parts):
        return " OR ".join(sorted({part for part in parts if part is not None}))
    return None


def _key(text: str) -> str:
    words = re.sub(r"[^a-z0-9+]+", " ", text.lower()).split()
    return " ".join(word for word in words if word not in _WORDS)


def _members(name: str) -> frozenset[str]:
    """The identifiers that a family, an identifier or an expression may mean or contains."""
    if name in _data().families:
        return _data().families[name] | {name}
    identifiers = set(re.findall(r"[^\s()]+", name)) - {"AND", "OR", "WITH"}
    return frozenset(identifiers)


def _agreed(told: list[str], stated: str, text: str, license_files: Iterable[str]) -> License:
    """Classifiers and License text must say the same; the narrower of the two is taken."""
    means = _members(stated)
    strangers = [name for name in told if not _members(name) & means]
    if strangers:
        return License(
            expression=None, reason=f"License says {_quote(text)}, the classifiers say {', '.join(sorted(told))}"
        )
    narrow = stated
    if stated in _data().families and len(told) == 1:
        narrow = told[0]
    return License(expression=_settle(narrow, license_files), reason="classifier and License text agree")


def _settle(name: str, license_files: Iterable[str]) -> str:
    """Of a family, the one member that a licence file quotes; the family's own name where none or several do."""
    members = _data().families.get(name)
    if members is None:
        return name
    quoted = {identifier for identifier in map(recognise, license_files) if identifier in members}
    return quoted.pop() if len(quoted) == 1 else name


def _suspect(text: str) -> bool:
    folded = text.lower()
    return any(re.search(rf"(?<![a-z]){re.escape(word)}", folded) for word in _data().suspect)


def _quote(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 60 else flat[:57] + "...")
