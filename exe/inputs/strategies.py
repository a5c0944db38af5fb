"""What makes values of a type, as OData JSON: readable ones first, guided by what the code says.

Everything comes from one source of small whole numbers. The generator's is a seeded one; `type_strategy` and
`arguments_strategy` (extra `hypothesis`) let Hypothesis choose and shrink.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from exe.analysis.kinds import LISTS
from exe.inputs import lexicon, samples, texts, vary
from exe.inputs.decode import ArgumentError, is_name, source
from exe.inputs.encode import default_json, to_json, wrap
from exe.inputs.mine import Hints
from exe.inputs.schema import Signature, key_form, literal_json
from exe.records import Json, Parameter, Type

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")
MAX_LEVEL = 4  # of containers in one another, below which they stay empty
_BOUND = 100  # ints drawn are below this: see the module's docstring


def type_strategy(
    found: Type, *, name: str = "", hints: Hints | None = None, names: Mapping[str, str] | None = None
) -> SearchStrategy[Json]:
    """A strategy of JSON values of one type; `name` is the parameter's, for hints. Imports Hypothesis."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: DrawFn) -> Json:
        return Maker(_below(draw), hints or Hints(), names or {}).value(found, name)

    return values()


def arguments_strategy(
    signature: Signature, hints: Hints, examples: Sequence[dict[str, Json]] = ()
) -> SearchStrategy[dict[str, Json]]:
    """A strategy of whole arguments objects; `examples` are known good ones, mutated now and then."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: DrawFn) -> dict[str, Json]:
        return Maker(_below(draw), hints, signature.names).arguments(signature, examples)

    return values()


@cache
def _bounded() -> tuple[SearchStrategy[int], ...]:
    from hypothesis import strategies as st

    return tuple(st.integers(0, size - 1) for size in range(1, _BOUND + 1))


def _below(draw: DrawFn) -> Callable[[int], int]:
    bounded = _bounded()

    def below(size: int) -> int:
        if size <= _BOUND:
            return draw(bounded[size - 1]) if size > 1 else 0
        low = below(_BOUND)
        return min(below(-(-size // _BOUND)) * _BOUND + low, size - 1)

    return below


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes values out of one source of choices: `below(n)` is a whole number from 0 to n - 1."""

    below: Callable[[int], int]
    hints: Hints = field(default_factory=Hints)
    names: Mapping[str, str] = field(default_factory=dict)
    earlier: list[Json] = field(default_factory=list)  # arguments of the same call that are already there

    def choose(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.below(100) >= 100 - percent

    def arguments(self, signature: Signature, examples: Sequence[dict[str, Json]] = ()) -> dict[str, Json]:
        """One arguments object: fresh, or an example with some of its arguments drawn anew."""
        base = vary.base(self, examples) if examples and self.chance(60) else {}
        arguments: dict[str, Json] = {}
        changed = self.choose(sorted(base)) if base else ""
        if signature.self_type is not None:
            made = base["self"] if base and not self.chance(25) else self.value(signature.self_type, "self")
            near = made is base.get("self") and (changed == "self" or self.chance(30))
            arguments["self"] = vary.varied(self, signature.self_type, made, "self") if near else made
        omit = False
        for parameter in signature.parameters:
            if parameter.name in base and not self.chance(25):
                kept = vary.recombined(self, base[parameter.name], parameter, examples)
                near = parameter.name == changed or self.chance(30)
                arguments[parameter.name] = vary.varied(self, parameter.type, kept, parameter.name) if near else kept
                self.earlier.append(arguments[parameter.name])
                continue
            positional = parameter.kind in ("positional", "normal")
            if parameter.default is not None and ((omit and positional) or self.chance(25)):
                omit = omit or positional
                continue
            self._argument(parameter, arguments, signature, omit)
        return arguments

    def _argument(self, parameter: Parameter, arguments: dict[str, Json], signature: Signature, omitted: bool) -> None:
        match parameter.kind:
            case "args" if not omitted:
                items = [self.value(parameter.type, parameter.name) for _ in range(self.size())]
                if items:
                    arguments[parameter.name] = items
            case "kwargs":
                taken = {other.name for other in signature.parameters} | {"self"}
                keys = [self.key_text(parameter.name) for _ in range(self.below(4))]
                fit = [key for key in keys if is_name(key) and key not in taken]
                extra = {key: self.value(parameter.type, key) for key in fit}
                if extra:
                    arguments[parameter.name] = extra
            case "positional" | "normal" | "keyword":
                arguments[parameter.name] = self.parameter_value(parameter)
                self.earlier.append(arguments[parameter.name])

    def parameter_value(self, parameter: Parameter) -> Json:
        """A value for a parameter: its default, a constant it is tested against, or any of its type."""
        if parameter.default is not None and self.chance(10):
            for value in default_json(parameter.type, parameter.default, self.names):
                return value
        return self.value(parameter.type, parameter.name)

    def size(self) -> int:
        """A number of elements: mostly few, at times none or many."""
        return self.choose((0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12))

    def value(self, found: Type, name: str = "", level: int = 0) -> Json:
        """One JSON value of the type."""
        mined = self.hints.by_name.get(name, ())
        if mined and self.chance(30):
            try:
                return to_json(found, self.choose(mined), self.names)
            except ArgumentError:
                pass  # a constant of another type: the parameter is a union, or the name is another variable's
        match found.kind:
            case "none":
                return None
            case "bool":
                return bool(self.below(2))
            case "int":
                return self.integer(name)
            case "float":
                return self.real(name)
            case "str" | "io.StringIO" | "exception":
                return self.text(name)
            case "any":
                return self.anything(name, level)
            case "hashable":
                return self.scalar(name)
            case "literal" | "enum" | "builtin":
                return literal_json(self.choose(found.values))
            case "union":
                arm = self.choose(found.args)
                return wrap(found, (arm, self.value(arm, name, level)), self.names)
            case "tuple":
                return [self.value(arg, name, level + 1) for arg in found.args]
            case "range":
                return samples.range_parts(self.below)
            case "bytes" | "bytearray" | "io.BytesIO":
                return base64.urlsafe_b64encode(self.octets(name)).decode()
            case kind if kind in LISTS:
                return self.elements(found, name, level)
            case kind if kind in samples.MAKERS:
                return samples.MAKERS[kind](self.below)
            case "re.Pattern":
                return self.choose((*self.hints.patterns[:10], *samples.REGEXES))
            case kind if kind.startswith("pathlib."):
                return self.text("path") if self.chance(20) else self.choose(lexicon.HINTS["path"])
            case "dataclass" | "namedtuple" | "object" | "typeddict":
                return {
                    part.name: self.value(part.type, part.name, level + 1)
                    for part in found.fields
                    if part.required or self.chance(50)
                }
            case "collections.ChainMap":
                return [self.mapping(found, name, level) for _ in range(1 + self.below(3))]
            case "never" | "opaque":
                raise ArgumentError(f"no value of {found.text} can be built")
            case _:
                return self.mapping(found, name, level)

    def elements(self, found: Type, name: str, level: int) -> list[Json]:
        """Elements of a list, set, deque, …; sets without repetition by Python's equality."""
        element = found.args[0]
        if element.kind == "never" or level >= MAX_LEVEL:
            return []
        items = [self.value(element, name, level + 1) for _ in range(self.size())]
        if found.kind in ("set", "frozenset"):
            return self._unique(element, items)
        if len(items) > 1 and self.chance(20):
            items[-1] = items[0]  # repeated elements are rare otherwise, and code often tells them apart
        return items

    def _unique(self, element: Type, items: list[Json]) -> list[Json]:
        kept: dict[Any, Json] = {}
        for item in items:
            plain = isinstance(item, bool | int | float)  # 1 == True == 1.0
            kept.setdefault(item if plain else source(element, item, self.names), item)
        return list(kept.values())

    def mapping(self, found: Type, name: str, level: int) -> Json:
        """A dict: keys that the code looks up, or others."""
        key_type, value_type = found.args
        form = key_form(key_type)
        if key_type.kind == "never" or value_type.kind == "never" or level >= MAX_LEVEL:
            return [] if form == "pairs" else {}
        if form == "pairs":
            keys = self._unique(key_type, [self.value(key_type, name, level + 1) for _ in range(self.size())])
            return [[key, self.value(value_type, "", level + 1)] for key in keys]
        made: dict[str, Json] = {}
        known = (self.hints.keys_by_name.get(name) or self.hints.keys) if form == "text" else ()
        if known and self.chance(75):
            made = dict.fromkeys(key for key in known[:12] if self.chance(75))
        for _ in range(self.size() if not made else self.below(2)):
            key = self.key_text(name) if form == "text" else str(self.value(key_type, name, level + 1))
            made[key] = None
        return {key: self.value(value_type, key, level + 1) for key in made if not key.startswith("@odata.")}

    def key_text(self, name: str) -> str:
        """A short word for a dict key."""
        related = [item for item in self.earlier if isinstance(item, str)]
        if related and self.chance(30):
            return self.choose(related)
        if self.hints.keys and self.chance(40):
            return self.choose(self.hints.keys)
        return self.choose(samples.KEYS) if not self.chance(15) else self.text(name)

    def anything(self, name: str, level: int) -> Json:
        """A JSON-like mix, nested at most a few levels; what is inside containers is mostly scalar."""
        tested = self.hints.kinds_by_name.get(name, ())
        if tested and level < 2 and self.chance(50):
            return self._of_kind(self.choose(tested), name, level)
        kind = self.below(9) if level < 2 else 0
        if kind < 6 or (level and self.chance(50)):
            return self.scalar(name)
        if kind < 7:
            return [self.anything(name, level + 1) for _ in range(self.below(4))]
        return self._entries(name, level)

    def _of_kind(self, kind: str, name: str, level: int) -> Json:
        """A value of one of the kinds that JSON has."""
        match kind:
            case "bool":
                return bool(self.below(2))
            case "int":
                return self.integer(name)
            case "float":
                value = self.real(name)
                return 0.5 if isinstance(value, str) else value
            case "str":
                return self.text(name)
            case "list":
                return [self.anything(name, level + 1) for _ in range(self.below(5))]
            case _:
                return self._entries(name, level)

    def _entries(self, name: str, level: int) -> dict[str, Json]:
        """Keys that the code looks up, or others, with anything under them."""
        known = self.hints.keys_by_name.get(name, ())
        keys = [key for key in known[:6] if self.chance(60)] or [self.key_text(name) for _ in range(self.below(3))]
        return {key: self.anything(key, level + 1) for key in keys if not key.startswith("@odata.")}

    def scalar(self, name: str) -> Json:
        """None, a bool, an int, a float or a text."""
        match self.below(8):
            case 0:
                return None
            case 1:
                return bool(self.below(2))
            case 2 | 3:
                return self.integer(name)
            case 4:
                value = self.real(name)
                return 0.5 if isinstance(value, str) else value
            case _:
                return self.text(name)

    def integer(self, name: str) -> int:
        """A whole number: small, near a constant of the code, a place in an earlier argument, or an extreme."""
        sized = [len(item) for item in self.earlier if isinstance(item, str | list)]
        if sized and self.chance(20):
            return self.below(min(self.choose(sized), 90) + 2) - self.choose((0, 0, 0, 1))
        hinted = lexicon.number_hints(name)
        match self.below(10):
            case 0 | 1 | 2 | 3:
                return self.choose(samples.SMALL_INTEGERS)
            case 4 | 5 if self.hints.integers:
                return self.choose(self.hints.integers) + self.choose((0, 1, -1, 0))
            case 6 | 7 if hinted:
                return self.choose(hinted)
            case 4 | 5 | 6 | 7 | 8:
                return self.below(1000) - self.choose((0, 0, 0, 500))
            case _:
                return self.choose(samples.EXTREME_INTEGERS)

    def real(self, name: str) -> Json:
        """A float, NaN and the infinities by their OData names."""
        hinted = lexicon.number_hints(name)
        match self.below(10):
            case 0 | 1 | 2:
                return self.choose(samples.SMALL_FLOATS)
            case 3 | 4 if self.hints.floats:
                value = self.choose(self.hints.floats) * self.choose((1, 1, -1, 0.5))
                return value if math.isfinite(value) else "INF"
            case 5 if self.hints.integers:
                return float(self.choose(self.hints.integers))
            case 6 if hinted:
                return float(self.choose(hinted))
            case 9:
                return self.choose(samples.EXTREME_FLOATS)
            case _:
                return (self.below(10_000) - self.choose((0, 5_000))) / self.choose((10, 100, 8, 1000))

    def octets(self, name: str) -> bytes:
        """Bytes: text encoded, or any."""
        known = [octets for item in self.earlier if (octets := samples.octets_in(item)) is not None]
        if known and self.chance(30):
            return samples.part_of_octets(self.choose(known), self.below)
        if self.chance(70):
            return self.text(name).encode("utf-8", "replace")
        return bytes(self.below(256) for _ in range(self.size()))

    def text(self, name: str) -> str:
        """A text: fit for the name, a constant of the code or several joined, a mutation of those, words, or an edge."""
        if self.earlier and self.chance(20):
            part = samples.part_of(self.choose(self.earlier), self.below)
            if part is not None:
                return part
        base = texts.text(self, name)
        if self.chance(25):
            base = samples.mutate(base, self.below, self.hints.strings or samples.PIECES)
        return base

    def hinted_texts(self, name: str) -> tuple[str, ...]:
        """What the parameter is read as, what its name suggests, and the function's own."""
        read = [text for word in self.hints.texts_by_name.get(name, ()) for text in lexicon.READ[word]]
        return (*read, *lexicon.text_hints(name), *lexicon.text_hints(self.hints.entry))
