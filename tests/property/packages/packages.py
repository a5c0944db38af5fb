"""A package: features laid over modules, with names drawn so that they collide and values that read one another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.property.packages.features import DECK, PLACEHOLDER, WITNESS, Feature, Part

LAYOUT: Final = {  # in the order of execution: each may import those before it while it loads
    "vend.core": "vend/core.py",
    "pk.space.deep": "pk/space/deep.py",  # a folder without __init__.py
    "pk.sub.c": "pk/sub/c.py",
    "pk.sub.d": "pk/sub/d.py",
    "pk.sub": "pk/sub/__init__.py",
    "pk.a": "pk/a.py",
    "pk.b": "pk/b.py",
    "pk": "pk/__init__.py",
    "pk.late": "pk/late.py",  # imported by functions alone, and only where a feature asks for it
}
ORDER: Final = tuple(LAYOUT)
LATE: Final = "pk.late"
MAIN: Final = "pk.main"
"""A module above all: its function calls the witnesses one after the other."""

POOLS: Final = {
    "function": ("f", "g", "h", "find", "make", "show"),
    "class": ("A", "B", "Node", "Config"),
    "value": ("N", "M", "LIMIT", "items", "data", "total", "depth"),
    "table": ("TABLE", "REG", "MAP"),
    "module": ("mod", "lib", "util", "core", "N"),
}
KINDS: Final = {
    **dict.fromkeys("fgh", "function"),
    **dict.fromkeys("CD", "class"),
    **dict.fromkeys("VW", "value"),
    "T": "table",
    "m": "module",
    "k": "module",
}
WORDS: Final = ("alpha", "beta", "N", "TABLE", "data")
RUN: Final = """
def run(x: int, y=0):
    results = []
    for one in ({names}):
        try:
            results.append(one(x, y))
        except Exception as error:
            results.append([type(error).__name__, str(error)])
    return results
"""
SPARED: Final = 0.9  # how often what is known to be refused is not laid there
LARGEST: Final = 12  # calls that calling a function may lead to


@dataclass(frozen=True, slots=True)
class Known:
    """Something that can be read in a module, and how many calls calling it leads to; 0 where it is not to be called."""

    kind: str
    calls: int = 0


@dataclass(eq=False)
class Writing:
    """One module as far as it is written."""

    name: str
    postponed: bool
    listed: bool
    head: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    bound: dict[str, str] = field(default_factory=dict)  # name → what an import takes it from, "" for others
    known: dict[str, Known] = field(default_factory=dict)  # expression → what it is
    exports: dict[str, Known] = field(default_factory=dict)
    closed: bool = False
    escapes: bool = False  # it is used as a value
    rebinds: bool = False  # its functions bind globals of it
    features: set[str] = field(default_factory=set)

    def text(self) -> str:
        """The whole module."""
        lines = ["from __future__ import annotations\n"] if self.postponed else []
        lines += [*self.head, *self.body, *self.tail]
        if self.listed:
            lines.append(f"__all__ = {[*self.exports, *(name for name in ('_hidden',) if name in self.bound)]}\n")
        return "".join(lines)


@dataclass(frozen=True, slots=True)
class Generated:
    """A package's texts by path, and the feature that each witness (module:function) shows.

    `pk.main:run` calls them all, in this order.
    """

    files: dict[str, str]
    witnesses: dict[str, str]


def generate(random: Random, features: int = 20) -> Generated:
    """One package. The same random numbers give the same package."""
    return _Generator(random).package(features)


class _Generator:
    def __init__(self, random: Random) -> None:
        self.random = random
        postponing = random.choice((0.0, 0.0, 0.5, 1.0))  # most packages are of one mind
        self.modules = {
            name: Writing(name, random.random() < postponing, random.random() < (0.8 if name == ORDER[0] else 0.4))
            for name in ORDER
        }
        self.witnesses: dict[str, str] = {}
        self.sparing = True

    def package(self, features: int) -> Generated:
        wanted = [self.random.choice(DECK) for _ in range(features)]
        wanted.sort(key=lambda one: one.closes)  # most have something to read and to import by then
        if self.random.random() < 0.5:
            self.random.shuffle(wanted)
        for feature in wanted:
            self._lay(feature)
        files = {LAYOUT[name]: module.text() for name, module in self.modules.items()}
        empty = {path for path, text in files.items() if not text.strip() and not path.endswith("__init__.py")}
        kept = {path: text for path, text in files.items() if path not in empty}
        if "vend/core.py" in kept:
            kept["vend/__init__.py"] = ""
        kept["pk/main.py"] = self._main()
        return Generated(kept, self.witnesses)

    def _main(self) -> str:
        """The module whose function calls all witnesses; it names them in one form or another."""
        lines = ["from __future__ import annotations"] if all(one.postponed for one in self.modules.values()) else []
        names: list[str] = []
        for number, witness in enumerate(self.witnesses):
            module, _, name = witness.partition(":")
            parent, _, last = module.rpartition(".")
            forms = ["from", "from", "module", "as", *(["member"] if parent else [])]
            match self.random.choice(forms):
                case "from":
                    bound = name if self.random.random() < 0.5 and name not in names else f"{name}_{number}"
                    lines.append(f"from {module} import {name} as {bound}")
                    names.append(bound)
                case "as":
                    lines.append(f"import {module} as m{number}")
                    names.append(f"m{number}.{name}")
                case "member":
                    lines.append(f"from {parent} import {last} as m{number}")
                    names.append(f"m{number}.{name}")
                case _:
                    lines.append(f"import {module}")
                    names.append(f"{module}.{name}")
        return "\n".join([*lines, RUN.format(names="".join(f"{name}, " for name in names))])

    # ---- where ------------------------------------------------------------------------------------------------------

    def _lay(self, feature: Feature) -> None:
        """Gives the feature's texts to modules that can take them; nothing where a few tries find none."""
        mixed = len({one.postponed for one in self.modules.values()}) > 1
        self.sparing = self.random.random() < SPARED
        if self.sparing and mixed and feature.annotations:
            return
        for _ in range(12):
            places = self._places(feature)
            if places is not None and self._write(feature, places):
                return

    def _places(self, feature: Feature) -> dict[str, str] | None:
        roles = feature.roles
        chosen = sorted(self.random.sample(range(ORDER.index(LATE)), len(roles)))
        places = {role: ORDER[index] for role, index in zip(roles, chosen, strict=True)}
        for role, kind in feature.kinds:
            places = self._fitted(places, role, kind)
        good = len(set(places.values())) == len(roles) and all(
            self._allows(feature, role, module, places) for role, module in places.items()
        )
        ranks = [ORDER.index(places[role]) for role in roles]
        return places if good and ranks == sorted(ranks) else None

    @staticmethod
    def _fitted(places: dict[str, str], role: str, kind: str) -> dict[str, str]:
        fixed = {"vendored": ORDER[0], "namespace": ORDER[1], "late": LATE}.get(kind.partition(" ")[0])
        return {**places, role: fixed} if fixed else places

    def _allows(self, feature: Feature, role: str, module: str, places: dict[str, str]) -> bool:
        writing = self.modules[module]
        kind = dict(feature.kinds).get(role, "").rpartition(" ")[2]
        fits = {"listed": writing.listed, "unlisted": not writing.listed}
        fits |= {"postponed": writing.postponed, "evaluated": not writing.postponed}
        if not fits.get(kind, True) or feature.name in writing.features:
            return False
        if self.sparing and self._refused(feature, role, writing):
            return False  # for a reason that is honest, but seen often enough
        if role != "low":
            return True
        if writing.closed or (
            module.startswith("vend")
            and (feature.uses("relative") or feature.uses("relative_parent") or feature.circular)
        ):
            return False
        if feature.witness == "low" and module.startswith("vend"):
            return False  # nothing that the package does is loaded with it
        if any(part.around for part in feature.parts):
            return module.startswith("pk.sub.") and places.get("high") in ("pk.a", "pk.b", "pk")
        return not (feature.circular and feature.called) or not f"{module}.".startswith(f"{places['high']}.")

    @staticmethod
    def _refused(feature: Feature, role: str, writing: Writing) -> bool:
        """Whether a module would be used as a value though its functions bind globals of it."""
        return (role == "low" and feature.escapes and writing.rebinds) or (feature.rebinds(role) and writing.escapes)

    # ---- what -------------------------------------------------------------------------------------------------------

    def _write(self, feature: Feature, places: dict[str, str]) -> bool:
        low = self.modules[places["low"]] if "low" in places else None
        if low is not None and feature.uses("any") and not low.exports:
            self._lay_value(low)
        names = self._names(feature, places)
        if low is not None and feature.uses("any"):
            names["any"] = self.random.choice(sorted(low.exports))
        texts: list[tuple[Part, Writing, str, int]] = []
        for part in feature.parts:
            module = places[part.role]
            writing = self.modules[module.rpartition(".")[0] if part.around else module]
            text, calls = self._fill(part.text, writing, names)
            if self._clashes(text, writing):
                return False
            texts.append((part, writing, text, calls))
        kinds = {name: Known(KINDS[key]) for key, name in names.items() if KINDS.get(key, "module") != "module"}
        if low is not None and "any" in names:
            kinds.setdefault(names["any"], low.exports[names["any"]])
        for part, writing, text, calls in texts:
            self._add(part, writing, text, kinds, calls if feature.called else LARGEST)
            if WITNESS.search(part.text):
                self.witnesses[f"{writing.name}:{names['f']}"] = feature.name
        self._load(feature, places)
        if feature.closes and low is not None:
            low.closed = True
        for role, module in places.items():
            writing = self.modules[module]
            writing.features.add(feature.name)
            writing.rebinds = writing.rebinds or feature.rebinds(role)
            writing.escapes = writing.escapes or (role == "low" and feature.escapes)
        return True

    def _lay_value(self, writing: Writing) -> None:
        name = self._free("value", [writing])
        text = f"{name} = ['{writing.name}', {self.random.randrange(10)}]\n"
        self._add(Part("low", "body", text), writing, text, {name: Known("value")}, 0)

    def _load(self, feature: Feature, places: dict[str, str]) -> None:
        """What a module above does to one below shows only where it is loaded: the package does so."""
        if feature.witness == "low" and not feature.circular and places.get("high", "pk") != "pk":
            self.modules["pk"].tail.append(f"import {places['high']}\n")

    def _names(self, feature: Feature, places: dict[str, str]) -> dict[str, str]:
        concerned = [self.modules[module] for module in places.values()]
        if any(part.around for part in feature.parts):
            concerned.append(self.modules[places["low"].rpartition(".")[0]])
        names: dict[str, str] = dict(places)
        taken: list[str] = []
        for key, kind in KINDS.items():
            if feature.uses(key):
                names[key] = self._free(kind, concerned, taken)
                taken.append(names[key])
        if "low" in places:
            names["parent"], _, names["last"] = places["low"].rpartition(".")
            if "high" in places and not places["low"].startswith("vend"):
                names["relative"] = _relative(places["high"], places["low"])
                names["relative_parent"] = _relative(places["high"], names["parent"])
        return names

    def _free(self, kind: str, concerned: list[Writing], taken: list[str] | None = None) -> str:
        used = {*(taken or ()), *(name for writing in concerned for name in writing.bound)}
        names = [name for name in POOLS[kind] if name not in used]
        if names:
            return self.random.choice(names)
        number = 2
        while f"{POOLS[kind][0]}{number}" in used:
            number += 1
        return f"{POOLS[kind][0]}{number}"

    def _fill(self, text: str, writing: Writing, names: dict[str, str]) -> tuple[str, int]:
        """The text with its placeholders filled, and how many calls its functions may make."""
        calls = 1

        def one(match: re.Match[str]) -> str:
            nonlocal calls
            key = match[1] or match[2]
            if key == "read":
                expression, more = self._read(writing, calls)
                calls += more
                return expression
            if key == "n":
                return str(self.random.randrange(10))
            return self.random.choice(WORDS) if key == "word" else names[key]

        return PLACEHOLDER.sub(one, text), calls

    def _read(self, writing: Writing, calls: int) -> tuple[str, int]:
        """An expression that reads something known, and how many calls it makes."""
        names = sorted(writing.known)
        if not names or self.random.random() < 0.2:
            return str(self.random.randrange(10)), 0
        name = self.random.choice(names)
        known = writing.known[name]
        if known.calls and calls + known.calls < LARGEST and self.random.random() < 0.4:
            return f"{name}({self.random.randrange(4)})", known.calls
        return name, 0

    def _clashes(self, text: str, writing: Writing) -> bool:
        """Whether a name that the module has already would be bound to something else."""
        for name, source in _bindings(text):
            if name in writing.bound and (not source or writing.bound[name] != source):
                return True
        return False

    def _add(self, part: Part, writing: Writing, text: str, kinds: dict[str, Known], calls: int) -> None:
        getattr(writing, part.where).append(text)
        imports = re.search(r"^(from|import) ", text, re.MULTILINE)
        for name, source in _bindings(text):
            writing.bound[name] = source
            kind = kinds.get(name) or kinds.get(name.removesuffix("_x"))
            if kind is None or part.where == "tail":
                continue
            if kind.kind == "function" and not kind.calls:
                kind = Known("function", calls if calls < LARGEST else 0)
            writing.known[name] = kind
            if not writing.closed:
                writing.exports[name] = kind
        for name, kind in kinds.items():
            if imports and part.where == "body":
                for dotted in re.findall(rf"(?<![.\w])[\w.]+\.{name}\b(?=[,\n])", text):
                    if dotted.partition(".")[0] in writing.bound:
                        writing.known[dotted] = kind


def _relative(high: str, low: str) -> str:
    """A module's name relative to the package that another one lies in."""
    around = (high if LAYOUT[high].endswith("__init__.py") else high.rpartition(".")[0]).split(".")
    parts = low.split(".")
    dots = 1
    while parts[: len(around)] != around:
        around.pop()
        dots += 1
    return "." * dots + ".".join(parts[len(around) :])


def _bindings(text: str) -> Iterator[tuple[str, str]]:
    """Names that a text binds at its top, with what an import takes them from."""
    stack: list[ast.AST] = list(reversed(ast.parse(text).body))
    while stack:
        node = stack.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, ""
            case ast.Import():
                for alias in node.names:
                    yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0], "package")
            case ast.ImportFrom():
                for alias in node.names:
                    if alias.name != "*":
                        yield alias.asname or alias.name, f"{node.module}:{alias.name}"
            case ast.Name(ctx=ast.Store()):
                yield node.id, ""
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass
            case ast.ExceptHandler(name=str() as name):
                yield name, ""
                stack.extend(node.body)
            case _:
                stack.extend(reversed(list(ast.iter_child_nodes(node))))
