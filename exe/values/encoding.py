"""A Python value as two JSON trees: the plain one that models see, and its exact typed twin.

Plain form: the table of the documentation's section on values. Typed form: bare JSON for None, bool, str, int, finite
float, a list as an array, and a dict whose keys are all plain str, none beginning with "@", as an object in its order.
Everything else is an object with "@odata.type" first:

    #float {value: "NaN" | "INF" | "-INF"}            #str {value}: holds surrogates, written as \\udxxx, backslashes doubled
    #tuple #set #frozenset #iterator {value: [...]}     #dict_keys #dict_values {value: [...]}  #dict_items {value: [[k, v]]}
    #dict #OrderedDict #Counter {value: [[k, v], ...]}  #defaultdict {factory: name | null, value: [[k, v], ...]}
    #deque {maxlen: n | null, value: [...]}             #ChainMap {value: [map, ...]}           #mappingproxy {value: map}
    #UserDict #UserList #UserString {value}             #range #slice {value: [start, stop, step]}
    #bytes #bytearray #memoryview {value: base64url}    #array {typecode, value: [...]}
    #complex {value: [real, imag]}                      #Decimal {value: text}                  #Fraction {value: "n/d"}
    #datetime #time {value: ISO 8601 without offset, fold?: 1, tz?: typed zone}                 #date {value}
    #timedelta {value: ISO 8601 duration}               #timezone {value: duration, name?}      #ZoneInfo {value: key}
    #UUID {value}                                       #PurePosixPath #PosixPath #PureWindowsPath {value}
    #Pattern {value: str or bytes, flags: int}          #IPv4Address … #IPv6Interface {value}   #Ellipsis #NotImplemented {}
    #object {class, fields}                             #namedtuple {class, fields, attributes?}
    #enum {class, name: str | null, value}              #subclass {class, value: form of the builtin base, fields?}

"fields" and "attributes" are themselves the typed form of a dict. A mutable value that occurs more than once carries
"@odata.id": n at its first place in the document (a list then is #list, a dict #dict), and is
{"@odata.type": "#ref", "value": n} at the others. "class" is the qualified name, with the module before it for the
standard library's classes only. Not written down: the sign of a NaN, a lambda as `default_factory` (its qualified name
stands there), identity among immutable values.

What has no form raises `Unrepresentable`: cycles, too deep or large values, endless iterators, functions, classes,
modules, exceptions as values, coroutines, zones of unknown code, and objects whose state Python cannot see.

No code of the value runs, except that builtin iterators and generators are drained: an exception on the way reaches
the caller as it is, since it is the program's outcome. See `text.py` on surviving replaced builtins.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from exe.values import classes, text
from exe.values.forms import FORMS, Kind, encode_enum, encode_object, encode_subclass, natural
from exe.values.kinds import ITERATOR_TYPES, REASONS
from exe.values.limits import DEFAULT_LIMITS, Limits, Unrepresentable
from exe.values.scalars import escape_surrogates, float_text, merge_surrogates

globals()["__builtins__"] = dict(vars(builtins))

Json = Any
Pair = tuple[Json, Json]

_get_recursion_limit, _set_recursion_limit = sys.getrecursionlimit, sys.setrecursionlimit
_get_digits, _set_digits = sys.get_int_max_str_digits, sys.set_int_max_str_digits
_STACK = 12  # interpreter frames for each level of a value, at most


def encode(value: object, *, limits: Limits = DEFAULT_LIMITS) -> tuple[Json, Json]:
    """Return (plain, typed) for `value`.

    Raises `Unrepresentable`; and whatever a generator inside the value raises while it is drained.
    """
    with text.interpreter_limits:
        walk = Walk(limits, _get_digits(), _get_recursion_limit())
        try:
            walk.own_limits()
            plain, typed = walk.value(value)
            if walk.repeated:
                walk = walk.again()
                plain, typed = walk.value(value)
                typed = _place(typed, {})
            return plain, typed
        except RecursionError as exc:
            if walk.raised is exc:
                raise
            raise Unrepresentable("deep") from None
        finally:
            _set_digits(walk.digits)
            _set_recursion_limit(walk.frames)


class Shared:
    """Stands for a value that occurs more than once, until its first place in the document is known."""

    __slots__ = ("typed",)

    def __init__(self, typed: Json) -> None:
        self.typed = typed


class Walk:
    """One traversal: what is open (cycles), what is done (sharing), how much has been spent."""

    def __init__(self, limits: Limits, digits: int, frames: int) -> None:
        self.limits = limits
        self.digits, self.frames = digits, frames  # the program's own limits
        self.depth = self.deepest = 0
        self.nodes = self.characters = 0
        self.open: set[int] = set()
        self.done: dict[int, tuple[Json, Json, int, int, int]] = {}  # plain, typed, nodes, characters, height
        self.repeated: set[int] = set()
        self.shared: frozenset[int] = frozenset()
        self.drained: dict[int, list[Any]] = {}
        self.raised: BaseException | None = None

    def again(self) -> Walk:
        """Return a fresh walk over the same value that knows what is shared, and drains nothing twice."""
        other = Walk(self.limits, self.digits, self.frames)
        other.shared = frozenset(self.repeated)
        other.drained = self.drained
        return other

    def own_limits(self) -> None:
        """Give the encoder room for its own digits and stack."""
        if self.digits:
            _set_digits(max(self.digits, self.limits.digits))
        _set_recursion_limit(self.frames + self.limits.depth * _STACK + 500)

    def value(self, value: object) -> Pair:
        """Return (plain, typed) for any value."""
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            raise Unrepresentable("large", f"more than {self.limits.nodes} values")
        cls = type(value)
        if cls is str:
            return self.text(value)  # type: ignore[arg-type]
        if value is None or cls is bool:
            return value, value
        if cls is int:
            return self.integer(value)  # type: ignore[arg-type]
        if cls is float:
            return self.real(value)  # type: ignore[arg-type]
        form = FORMS.get(id(cls))
        if form is not None:
            kind, build = form
            if kind is Kind.SCALAR:
                return build(self, value)
            return self.container(value, build, mutable=kind is Kind.MUTABLE)
        return self._other(value, cls)

    def _other(self, value: object, cls: type) -> Pair:
        if id(cls) in ITERATOR_TYPES:
            return self.container(value, _iterator, mutable=True)
        if id(cls) in REASONS:
            raise Unrepresentable(REASONS[id(cls)], classes.class_name(cls))
        for base in classes.mro(cls):
            if id(base) in REASONS:
                raise Unrepresentable(REASONS[id(base)], classes.class_name(cls))
        if classes.is_enum(cls):
            return self.container(value, encode_enum, mutable=False)
        for base in classes.mro(cls):
            form = FORMS.get(id(base))
            if form is not None or base is str or base is int or base is float:
                return self.container(
                    value, encode_subclass(base), mutable=form is not None and form[0] is Kind.MUTABLE
                )
        if not classes.is_transparent(cls):
            raise Unrepresentable("opaque", classes.class_name(cls))
        return self.container(value, encode_object, mutable=True)

    def container(self, value: object, build: Any, *, mutable: bool) -> Pair:
        """Encode something that can hold other values: watch for cycles and depth, remember what is shared."""
        key = id(value)
        if key in self.open:
            raise Unrepresentable("cyclic", classes.class_name(type(value)))
        if mutable and key in self.done:
            return self._repeat(key)
        nodes, characters, deepest = self.nodes, self.characters, self.deepest
        self.open.add(key)
        self.depth += 1
        self._reach(self.depth)
        self.deepest = self.depth
        plain, typed = build(self, value)
        height = self.deepest - self.depth
        self.depth -= 1
        self.deepest = max(deepest, self.deepest)
        self.open.discard(key)
        if key in self.shared:
            typed = Shared(typed)
        if mutable:
            self.done[key] = plain, typed, self.nodes - nodes, self.characters - characters, height
        return plain, typed

    def _repeat(self, key: int) -> Pair:
        plain, typed, nodes, characters, height = self.done[key]
        self.repeated.add(key)
        self.nodes += nodes
        self.spend(characters)
        self._reach(self.depth + 1 + height)
        if self.nodes > self.limits.nodes:
            raise Unrepresentable("large", f"more than {self.limits.nodes} values")
        self.deepest = max(self.deepest, self.depth + 1 + height)
        return plain, typed

    def _reach(self, depth: int) -> None:
        if depth > self.limits.depth:
            raise Unrepresentable("deep", f"more than {self.limits.depth} levels")

    def spend(self, characters: int) -> None:
        """Count text against the limit."""
        self.characters += characters
        if self.characters > self.limits.characters:
            raise Unrepresentable("large", f"more than {self.limits.characters} characters")

    def text(self, value: str) -> Pair:
        """Return the forms of an exact str."""
        self.spend(len(value))
        escaped = escape_surrogates(value)
        if escaped is None:
            return value, value
        return merge_surrogates(value), {"@odata.type": "#str", "value": escaped}

    def integer(self, value: int) -> Pair:
        """Return the forms of an exact int."""
        bits = value.bit_length()
        if bits > 64:
            self.spend(bits // 3)
            if bits * 30103 > self.limits.digits * 100000:
                raise Unrepresentable("large", f"an integer of more than {self.limits.digits} digits")
        return value, value

    def real(self, value: float) -> Pair:
        """Return the forms of an exact float."""
        if value - value == 0.0:
            return value, value
        word = float_text(value)
        return word, {"@odata.type": "#float", "value": word}

    def sequence(self, items: Iterable[object]) -> tuple[list[Json], list[Json]]:
        """Return the forms of the items of a builtin iterable, in its order."""
        plain, typed = [], []
        for item in list(items):  # a generator among them may change what is being read
            p, t = self.value(item)
            plain.append(p)
            typed.append(t)
        return plain, typed

    def unordered(self, items: Iterable[object]) -> tuple[list[Json], list[Json]]:
        """Return the forms of a set's elements: sorted where that gives one order, else by canonical JSON text."""
        rows = [(item, *self.value(item)) for item in list(items)]
        try:
            rows.sort(key=lambda row: natural(row[0]))
        except TypeError:
            rows.sort(key=lambda row: (_order(row[1]), _order(row[2])))
        return [row[1] for row in rows], [row[2] for row in rows]

    def mapping(self, items: Iterable[tuple[object, object]]) -> tuple[Json, list[list[Json]]]:
        """Return a mapping's plain form and its typed [key, value] pairs, in its order."""
        rows = []
        for key, item in list(items):
            plain_key, typed_key = self.value(key)
            plain_item, typed_item = self.value(item)
            rows.append((plain_key, typed_key, plain_item, typed_item))
        typed = [[row[1], row[3]] for row in rows]
        names = [key_text(row[0]) for row in rows]
        if None not in names and len(set(names)) == len(names):
            return {name: row[2] for name, row in zip(names, rows, strict=True)}, typed
        rows.sort(key=lambda row: (_order(row[0]), _order(row[1])))
        return [[row[0], row[2]] for row in rows], typed

    def members(self, items: Iterable[tuple[object, object]]) -> Pair:
        """Return both forms of a plain dict, bare where it can be."""
        rows = list(items)
        for key, _ in rows:
            if type(key) is not str or key[:1] == "@" or not key.isascii():
                plain, pairs = self.mapping(rows)
                return plain, bare_or_pairs(pairs)
        plain, typed = {}, {}
        for key, item in rows:
            self.nodes += 1
            self.spend(len(key))  # type: ignore[arg-type]
            plain[key], typed[key] = self.value(item)
        return plain, typed

    def drain(self, iterator: Iterator[object]) -> list[object]:
        """Take the items of a builtin iterator, the program's own limits in force meanwhile."""
        key = id(iterator)
        if key not in self.drained:
            taken: list[object] = []
            _set_digits(self.digits)
            _set_recursion_limit(self.frames)
            try:
                for item in iterator:
                    if len(taken) >= self.limits.drain:
                        raise Unrepresentable("endless", f"more than {self.limits.drain} items")
                    taken.append(item)
            except BaseException as exc:
                self.raised = exc
                raise
            self.digits, self.frames = _get_digits(), _get_recursion_limit()
            self.own_limits()
            self.drained[key] = taken
        return self.drained[key]


def _iterator(walk: Walk, value: Iterator[object]) -> Pair:
    plain, typed = walk.sequence(walk.drain(value))
    return plain, {"@odata.type": "#iterator", "value": typed}


def key_text(plain: Json) -> str | None:
    """Return the text under which a scalar key stands in a JSON object; None for a key that is no scalar."""
    if type(plain) is str:
        return plain
    if type(plain) is int:
        return int.__repr__(plain)
    if type(plain) is float:
        return float.__repr__(plain)
    if plain is None:
        return "null"
    if type(plain) is bool:
        return "true" if plain else "false"
    return None


def bare_or_pairs(pairs: list[list[Json]]) -> Json:
    """Return the typed form of a dict: a bare object where every key allows it."""
    if all(type(key) is str and not key.startswith("@") for key, _ in pairs):
        out = dict(pairs)
        if len(out) == len(pairs):
            return out
    return {"@odata.type": "#dict", "value": pairs}


def _order(tree: Json) -> str:
    """Return canonical text; a shared value counts as a blank, for its number is not known yet."""
    return text.canonical(_blank(tree))


def _blank(tree: Json) -> Json:
    if type(tree) is Shared:
        return None
    if type(tree) is list:
        return [_blank(item) for item in tree]
    if type(tree) is dict:
        return {key: _blank(item) for key, item in tree.items()}
    return tree


def _place(tree: Json, numbers: dict[int, int]) -> Json:
    """Number the shared values in the order of the document: the first place defines, the others refer."""
    if type(tree) is Shared:
        number = numbers.get(id(tree))
        if number is not None:
            return {"@odata.type": "#ref", "value": number}
        number = numbers[id(tree)] = len(numbers) + 1
        inner = tree.typed
        if type(inner) is list:
            return {"@odata.type": "#list", "@odata.id": number, "value": _place(inner, numbers)}
        if "@odata.type" not in inner:
            pairs = [[key, _place(item, numbers)] for key, item in inner.items()]
            return {"@odata.type": "#dict", "@odata.id": number, "value": pairs}
        placed = {"@odata.type": inner["@odata.type"], "@odata.id": number}
        placed.update((key, _place(item, numbers)) for key, item in inner.items() if key != "@odata.type")
        return placed
    if type(tree) is list:
        return [_place(item, numbers) for item in tree]
    if type(tree) is dict:
        return {key: _place(item, numbers) for key, item in tree.items()}
    return tree
