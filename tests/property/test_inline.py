"""Generated packages: a function inlined does what it does in its package."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from exe.analysis import functions, read_project
from exe.inline import Inlined, inline
from tests.inlining import candidate, imported, loaded, outcome, write_package

CONSTANTS = ("N", "M", "TABLE")
FUNCTIONS = ("f", "g", "h")
CLASSES = ("A", "B")
NAMES = (*CONSTANTS, *FUNCTIONS, *CLASSES)
MODULES = ("pk.sub.c", "pk.sub", "pk.a", "pk.b", "pk")  # each may import those before it while it loads
PATHS = ("pk/sub/c.py", "pk/sub/__init__.py", "pk/a.py", "pk/b.py", "pk/__init__.py")
KINDS = dict.fromkeys(CONSTANTS, "value") | dict.fromkeys(FUNCTIONS, "function") | dict.fromkeys(CLASSES, "class")
KINDS["TABLE"] = "table"
STATEMENTS = ("constant", "table", "class", *("import", "function", "effect", "snippet") * 2)
BROKEN = [
    ("error", name) for name in ("NameError", "ImportError", "ModuleNotFoundError", "AttributeError", "RecursionError")
]
ALLOWED = {"module-escapes", "unresolved-import", "module-attribute-assigned", "unbound-name", "definition-order"}
FEATURES = (
    "ModuleType(", "__name__ = ", "global ", "__init_subclass__", "metaclass", "@dataclass", "setattr(", "cls.items", "del tmp",
    "same = ", "'written'", "walrus", "branch", "lru_cache", "ModuleNotFoundError", "super(", "_two", " = ",
)  # fmt: skip
EXAMPLES = int(os.environ.get("EXE_INLINE_EXAMPLES", "40"))


class Writer:
    """Draws the text of one module; `known` are the global names that the text so far may read.

    `late` are those that only functions may read: of modules that may not have been executed yet.
    """

    def __init__(self, draw: st.DrawFn, module: str, plan: dict[str, list[str]]) -> None:
        self.draw = draw
        self.module = module
        self.plan = plan
        self.late: dict[str, str] = {}
        self.known: dict[str, str] = {}  # name → what it is: value, table, function, class, module
        self.lines: list[str] = []

    def pick(self, *kinds: str) -> str | None:
        names = sorted(name for name, kind in self.known.items() if kind in kinds)
        return self.draw(st.sampled_from(names)) if names else None

    def module_name(self, member: str = "") -> str | None:
        """A plain name that stands for a module, with that member."""
        dotted = [name.rpartition(".") for name in sorted(self.known) if "." in name]
        names = [owner for owner, _, last in dotted if owner.isidentifier() and owner != "pk" and member in ("", last)]
        return names[0] if names else None

    def value(self) -> str:
        """An expression that can be read at once."""
        name = self.pick("value", "table", "class", "function")
        number = str(self.draw(st.integers(0, 9)))
        return name if name is not None and self.draw(st.booleans()) else number

    def import_(self, indent: str = "") -> tuple[str, dict[str, str], bool]:
        """An import statement in one of its forms, what it makes known, and whether that is there already."""
        earlier = [module for module in MODULES[: MODULES.index(self.module)] if self.plan[module]]
        later = [module for module in MODULES if module != self.module and module not in earlier and self.plan[module]]
        down = bool(earlier) and (not later or self.draw(st.integers(0, 9)) > 2)
        if not earlier and not later:
            return f"{indent}import math", {}, True
        target = self.draw(st.sampled_from(earlier if down else later))
        name = self.draw(st.sampled_from(self.plan[target]))
        kind = KINDS[name]
        alias = self.draw(st.sampled_from((name, name, f"{name}_x")))
        renamed = "" if alias == name else f" as {alias}"
        parent, _, last = target.rpartition(".")
        forms = ("from", "from", "relative", "module", "as", "member", "star") if down or indent else ("module", "as")
        match self.draw(st.sampled_from(forms)):
            case "from":
                return f"{indent}from {target} import {name}{renamed}", {alias: kind}, down
            case "relative" if target != "pk":
                dots = ".." if self.module.startswith("pk.sub") else "."
                rest = target.removeprefix("pk.")
                return f"{indent}from {dots}{rest} import {name}{renamed}", {alias: kind}, down
            case "as":
                return f"{indent}import {target} as mod", {f"mod.{name}": kind}, down
            case "member" if parent:
                return f"{indent}from {parent} import {last}", {f"{last}.{name}": kind}, down
            case "star" if not indent:
                return f"from {target} import *", {one: KINDS[one] for one in self.plan[target]}, down
            case _:
                return f"{indent}import {target}", {f"{target}.{name}": kind}, down

    def function(self, name: str) -> None:
        default = self.value()
        body: list[str] = []
        known = self.known | self.late
        match self.draw(st.sampled_from(("plain", "lazy", "lazy", "global", "local", "recursive"))):
            case "lazy":
                text, more, _ = self.import_("    ")
                bound = {key.partition(".")[0] for key in more}
                known = {key: kind for key, kind in known.items() if key.partition(".")[0] not in bound}
                body.append(text)
                known.update(more)
            case "global":
                counter = self.draw(st.sampled_from(("N", "M")))
                if self.known.get(counter) == "value":
                    body += [f"    global {counter}", f"    {counter} = [{counter}, y]"]
            case "local":
                body.append(f"    {self.draw(st.sampled_from(NAMES))} = y")
                body = [body[0]]
                known = {key: kind for key, kind in known.items() if key != body[0].split()[0]}
            case "recursive":
                body += ["    if x > 3:", f"        return {name}(0, 1)"]
            case _:
                pass
        reads = [key for key in sorted(known) if known[key] != "module"]
        chosen = self.draw(st.lists(st.sampled_from(reads), max_size=3)) if reads else []
        parts = [f"{key}(0)" if known[key] == "function" and self.draw(st.booleans()) else key for key in chosen]
        self.lines += [
            f"def {name}(x: int, y={default}):",
            *body,
            f"    return ({self.module!r}, x, {', '.join([*parts, 'y'])})",
        ]
        self.known[name] = "function"

    def class_(self, name: str) -> None:
        base = self.pick("class") if self.draw(st.booleans()) else None
        self.lines.append(f"class {name}({base or ''}):")
        self.lines.append(f"    tag = {self.value()}")
        if self.draw(st.integers(0, 3)) == 0:
            self.lines += ["    seen = []", "    def __init_subclass__(cls):", "        cls.seen.append(cls.__name__)"]
        self.lines += ["    def get(self, x: int):", f"        return ({name}, x, {self.value()})"]
        self.known[name] = "class"

    def snippet(self) -> None:
        """Constructs whose names are easily taken for others."""
        value, function = self.pick("value", "table"), self.pick("function")
        read = value or "0"
        match self.draw(st.integers(0, 18)):
            case 10:
                self.lines += [f"tmp = ['tmp', {read}]", "held = tmp", "del tmp"]
                self.known["held"] = "value"
            case 11 if self.module_name():
                self.lines += ["def ask(x: int, y='N'):", f"    return getattr({self.module_name()}, y, None), y"]
                self.known["ask"] = "function"
            case 12 if self.module_name("N"):
                self.lines.append(f"{self.module_name('N')}.N = ['written', {self.module!r}]")
            case 13 if self.pick("table"):
                self.lines += [f"same = {self.pick('table')}", f"same['alias'] = {read}"]
                self.known["same"] = "table"
            case 14 if self.pick("class"):
                self.lines += ["def show(x: int, y=0):", f"    return f'{{{self.pick('class')}}} {{type(x)}} {{y}}'"]
                self.known["show"] = "function"
            case 15:
                self.lines += [
                    "class Reg:",
                    "    items = {}",
                    "    @classmethod",
                    "    def add(cls, fn):",
                    f"        cls.items[fn.__name__, {self.module!r}] = fn",
                    "        return fn",
                    "@Reg.add",
                    "def registered(x: int, y=0):",
                    f"    return 'registered', x, {read}",
                    "def lookup(x: int, y=0):",
                    "    return sorted(Reg.items), [fn(x) for fn in Reg.items.values()]",
                ]
                self.known |= {"Reg": "class", "registered": "function", "lookup": "function"}
            case 16:
                self.lines += [
                    "class Codes: pass",
                    "codes = Codes()",
                    "def _fill():",
                    f"    for i in range(2): setattr(codes, f'c{{i}}', [i, {read}])",
                    "_fill()",
                    "def code(x: int, y=0):",
                    "    return vars(codes)",
                ]
                self.known |= {"Codes": "class", "code": "function"}
            case 17:
                self.lines += [
                    "for index in range(4):",
                    "    if index % 2:",
                    f"        last = [index, {read}]",
                    "else:",
                    "    (walrus := index + 1)",
                    "late = [lambda: index for _ in range(1)]",
                    "def loops(x: int, y=0):",
                    "    return last, walrus, index, late[0]()",
                ]
                self.known["loops"] = "function"
            case 18:
                self.lines += [
                    f"if len({self.module!r}) > 3:",
                    f"    M = ['long', {read}]",
                    "    def branch(x: int, y=0): return 'long', M",
                    "else:",
                    "    M = ['short']",
                    "    def branch(x: int, y=0): return 'short', M",
                ]
                self.known |= {"M": "value", "branch": "function"}
            case 0:
                self.lines += [
                    "def max(*items):",
                    f"    return ({self.module!r}, items, {read})",
                    "def low(x: int):",
                    "    return max(x)",
                ]
                self.known["low"] = "function"
            case 1:
                self.lines += ["def high(x: int, y=0):", "    return max(x, 1), min(x, 2)"]
                self.known["high"] = "function"
            case 2:
                self.lines += [
                    "from dataclasses import dataclass",
                    "@dataclass(order=True)",
                    "class D:",
                    "    x: int",
                    f"    y: object = {read if value else 1}" if value is None else "    y: int = 1",
                ]
                self.known["D"] = "class"
            case 3:
                self.lines += [
                    "try:",
                    "    from absent import N",
                    "except ImportError:",
                    f"    N = ['fallback', {read}]",
                ]
                self.known["N"] = "value"
            case 4:
                self.lines += (
                    ["def text(x: int, y=0):", f"    return f'{{x}} {{type({read}).__name__:>4}} N M {{y}}'"]
                    if value and "." not in value
                    else []
                )
                if value and "." not in value:
                    self.known["text"] = "function"
            case 5:
                self.lines += [
                    "def comp(x: int, y=0):",
                    f"    N = [M for M in range(x) if {read} or M]",
                    "    return N, [i for i in N]",
                ]
                self.known["comp"] = "function"
            case 6:
                self.lines += [
                    "class Meta(type):",
                    "    made = []",
                    "    def __init__(cls, *args):",
                    "        Meta.made.append(cls.__name__)",
                    "class E(metaclass=Meta):",
                    f"    held = {read}",
                    "def made(x: int):",
                    "    return Meta.made",
                ]
                self.known |= {"E": "class", "made": "function"}
            case 7 if function:
                self.lines += [
                    "from functools import lru_cache, wraps",
                    "def deco(fn):",
                    "    @wraps(fn)",
                    "    def inner(*args):",
                    f"        return [fn(*args), {read}]",
                    "    return inner",
                    "@deco",
                    "@lru_cache",
                    "def wrapped(x: int):",
                    f"    return x, {function}.__name__",
                ]
                self.known["wrapped"] = "function"
            case 8:
                self.lines += [
                    "import sys",
                    "if sys.version_info < (3,):",
                    "    M = old",
                    "elif len('a') == 1:",
                    f"    M = ['chosen', {read}]",
                    "else:",
                    "    M = None",
                ]
                self.known["M"] = "value"
            case _:
                self.lines += [
                    "class K:",
                    f"    M = {read}",
                    "    N = [M]",
                    "    def get(self, x: int):",
                    "        return self.M, self.N",
                    "def own(x: int):",
                    "    return K().get(x), K.__qualname__",
                ]
                self.known |= {"own": "function", "K": "class"}

    def effect(self) -> None:
        """A statement that changes what is there."""
        table, value = self.pick("table"), self.pick("value")
        match self.draw(st.sampled_from(("item", "update", "augment", "loop", "attribute", "decorate", "call"))):
            case "item" if table:
                self.lines.append(f"{table}[{self.draw(st.integers(0, 5))}] = {self.value()}")
            case "update" if table:
                self.lines.append(f"{table}.update(u={self.value()})")
            case "augment" if value and "." not in value:
                self.lines.append(f"{value} = ({value}, 1)")
            case "loop" if table:
                self.lines += ["for i in range(2):", f"    {table}['l', i] = {self.value()}"]
            case "attribute":
                owner = self.pick("class")
                if owner:
                    self.lines.append(f"{owner}.extra = {self.value()}")
            case "decorate" if table:
                self.lines += ["def put(fn):", f"    {table}['d'] = fn.__name__", "    return fn", "@put"]
                self.function(self.draw(st.sampled_from(FUNCTIONS)))
            case "call" if self.pick("function"):
                self.lines.append(f"R = {self.pick('function')}(0)")
                self.known["R"] = "value"
            case _:
                pass

    def text(self) -> str:
        if self.draw(st.integers(0, 4)) == 0:
            self.lines.append("from __future__ import annotations")
        for _ in range(self.draw(st.integers(2, 6))):
            match self.draw(st.sampled_from(STATEMENTS)):
                case "snippet":
                    self.snippet()
                case "constant":
                    name = self.draw(st.sampled_from(("N", "M")))
                    self.lines.append(f"{name} = [{self.module!r}, {self.value()}]")
                    self.known[name] = "value"
                case "table":
                    self.lines.append("TABLE = {}")
                    self.known["TABLE"] = "table"
                case "import":
                    text, more, ready = self.import_()
                    self.lines.append(text)
                    (self.known if ready else self.late).update(more)
                case "function":
                    self.function(self.draw(st.sampled_from(FUNCTIONS)))
                case "class":
                    self.class_(self.draw(st.sampled_from(CLASSES)))
                case _:
                    self.effect()
        for name in self.plan[self.module]:
            if name not in self.known:
                self.planned(name)
        if self.draw(st.integers(0, 5)) == 0:
            self.lines.append(f"__all__ = {sorted(self.plan[self.module])}")
        return "\n".join(self.lines) + "\n"

    def planned(self, name: str) -> None:
        """Makes good what the plan promises to importers."""
        if name in FUNCTIONS:
            self.function(name)
        elif name in CLASSES:
            self.class_(name)
        else:
            self.lines.append("TABLE = {}" if name == "TABLE" else f"{name} = [{self.module!r}, {self.value()}]")
            self.known[name] = KINDS[name]


@st.composite
def packages(draw: st.DrawFn) -> dict[str, str]:
    """Texts of a small package by path."""
    names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)
    plan = {module: draw(names) for module in MODULES}
    return {path: Writer(draw, module, plan).text() for path, module in zip(PATHS, MODULES, strict=True)}


def check(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        package = write_package(root, files)
        project = read_project(package)
        for function in functions(project):
            if function.class_node is not None:
                continue
            target = f"{function.module.name}:{function.qualname}"
            call = f"{function.qualname}(5)"
            try:
                with imported(root, function.module.name) as namespace:
                    expected = outcome(call, namespace)
                    again = outcome(call, namespace)
            except Exception as error:  # noqa: BLE001 -- generated packages may fail in any way
                event(f"original does not load: {type(error).__name__}")
                continue
            if expected[:2] in BROKEN:
                event("original misses a name")
                continue
            result = inline(project, candidate(package, target))
            if not isinstance(result, Inlined):
                event(f"refused: {result.reason}")
                assert result.reason in ALLOWED, result
                continue
            try:
                with loaded(result.source) as namespace:
                    found = outcome(call, namespace)
                    found_again = outcome(call, namespace)
            except Exception as error:
                raise AssertionError(f"{target} does not load: {error!r}\n{result.source}") from error
            event(f"compared: {expected[0]}")
            for feature in FEATURES:
                if feature in result.source:
                    event(f"feature: {feature}")
            assert (found, found_again) == (expected, again), f"{target}\n{result.source}"


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(packages())
def test_inlined_equals_original(files: dict[str, str]) -> None:
    check(files)
