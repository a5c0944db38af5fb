"""Annotation forms → kinds of types, read from a package written for the test; what is unsupported says why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from exe.records import Candidate, Rejection, Type
from tests.unit.analysis.packages import package, read

PRELUDE = """
from __future__ import annotations
import abc, collections, collections.abc, datetime, datetime as dt, decimal, enum, fractions, functools, ipaddress
import dataclasses, numbers, os, pathlib, re, typing, typing as t, uuid
import typing_extensions
from collections import defaultdict, deque
from dataclasses import InitVar, KW_ONLY, dataclass, field
from enum import Enum, Flag, IntEnum, auto
from typing import *

Alias = Union[int, str]
Nested = List["Alias"]
Explicit: TypeAlias = "dict[str, Alias]"
UserId = NewType("UserId", int)
Free = TypeVar("Free")
Bound = TypeVar("Bound", bound="Sequence[int]")
Constrained = TypeVar("Constrained", str, bytes)
Pair = Tuple[Free, Free]
Json = Union[None, int, str, List["Json"], Dict[str, "Json"]]
Levels = Literal["low", "high"]

class Mode(Enum):
    FAST = 1
    SLOW = "slow"
    _ignore_ = ["x"]
    __hidden = 3
    helper = lambda self: 1
    def method(self): return 1

class Level(IntEnum):
    LOW, HIGH = 1, 2

class Perm(Flag):
    R = auto()
    W = auto()

Colour = Enum("Colour", "RED GREEN, BLUE")

@dataclass
class Base:
    x: int
    y: float = 0.0
    kind: ClassVar[str] = "k"

@dataclass(kw_only=True)
class Child(Base):
    z: list[str] = field(default_factory=list)
    hidden: int = field(init=False, default=3)
    _: KW_ONLY
    seed: InitVar[int] = 4
    x: int

@dataclass
class Node:
    value: int
    next: Optional[Node] = None
    children: List["Node"] = field(default_factory=list)

@dataclass
class Endless:
    next: "Endless"

class Row(NamedTuple):
    a: int
    b: str = "b"

Made = NamedTuple("Made", [("a", int), ("b", "list[str]")])

class Movie(TypedDict):
    title: str
    year: NotRequired[int]

class More(Movie, total=False):
    stars: Required[float]
    tags: list[str]

Functional = TypedDict("Functional", {"a-b": int, "c": Optional[str]}, total=False)

class Plain:
    def __init__(self, name: str, size: int = 3, *rest: int, flag: bool, extra=None, **more: str) -> None:
        self.name = name
    def clone(self, other: Self) -> str: return ""

class Heir(Plain):
    pass

class Empty:
    pass

class Untyped:
    def __init__(self, name): ...

class Proto(Protocol):
    def run(self) -> int: ...

class Abstract(abc.ABC):
    @abc.abstractmethod
    def run(self) -> int: ...

class Concrete(Abstract):
    def run(self) -> int: return 1

class Meta(metaclass=abc.ABCMeta): ...
class OddMeta(metaclass=type("M", (type,), {})): ...
class New:
    def __new__(cls, x: int): return object.__new__(cls)
class FromDict(dict): ...
class Failure(ValueError):
    def __init__(self, code: int) -> None: ...

class Box(Generic[Free]):
    def __init__(self, item: Free) -> None: ...

class IntBox(Box[int]): ...
"""


def show(found: Type) -> str:
    """A type as one line: `dict[str,union[int,none]]`, `literal('a',1)`, `enum:Mode(FAST)`, `dataclass:Base(x=int,y?=float)`."""
    text = found.kind.removeprefix("collections.")
    if found.origin:
        text += ":" + found.origin.partition(":")[2]
    if found.args:
        text += f"[{','.join(show(arg) for arg in found.args)}]"
    if found.values:
        text += f"({','.join(map(repr if found.kind == 'literal' else str, found.values))})"
    if found.fields:
        parts = [f"{one.name}{'=' if one.required else '?='}{show(one.type)}" for one in found.fields]
        text += f"({','.join(parts)})"
    return text


SUPPORTED = [
    ("int", "int"),
    ("'int'", "int"),
    ("'Optional[\"int\"]'", "union[int,none]"),
    ("bool", "bool"),
    ("float", "float"),
    ("complex", "complex"),
    ("str", "str"),
    ("typing.Text", "str"),
    ("bytes", "bytes"),
    ("bytearray", "bytearray"),
    ("None", "none"),
    ("Any", "any"),
    ("object", "any"),
    ("range", "range"),
    ("list", "list[any]"),
    ("list[int]", "list[int]"),
    ("List", "list[any]"),
    ("List[List[str]]", "list[list[str]]"),
    ("t.List['Mode']", "list[enum:Mode(FAST,SLOW)]"),
    ("Sequence[int]", "list[int]"),
    ("collections.abc.Sequence", "list[any]"),
    ("MutableSequence[str]", "list[str]"),
    ("Iterable[str]", "list[str]"),
    ("Collection[str]", "list[str]"),
    ("Container[str]", "list[str]"),
    ("Iterator[int]", "iterator[int]"),
    ("Generator[int, None, str]", "generator[int]"),
    ("deque[int]", "deque[int]"),
    ("Deque[int]", "deque[int]"),
    ("set", "set[hashable]"),
    ("Set[int]", "set[int]"),
    ("AbstractSet[str]", "set[str]"),
    ("collections.abc.Set[str]", "set[str]"),
    ("MutableSet[str]", "set[str]"),
    ("frozenset[str]", "frozenset[str]"),
    ("FrozenSet[Tuple[int, str]]", "frozenset[tuple[int,str]]"),
    ("set[Any]", "set[hashable]"),
    ("set[Sequence[int]]", "set[vartuple[int]]"),
    ("tuple", "vartuple[any]"),
    ("tuple[()]", "tuple"),
    ("tuple[int, str]", "tuple[int,str]"),
    ("Tuple[int, ...]", "vartuple[int]"),
    ("dict", "dict[str,any]"),
    ("dict[str, int]", "dict[str,int]"),
    ("Dict[int, List[str]]", "dict[int,list[str]]"),
    ("Mapping[str, Any]", "dict[str,any]"),
    ("MutableMapping[Any, int]", "dict[hashable,int]"),
    ("collections.OrderedDict[str, int]", "OrderedDict[str,int]"),
    ("typing.OrderedDict[str, int]", "OrderedDict[str,int]"),
    ("defaultdict[str, list[int]]", "defaultdict[str,list[int]]"),
    ("DefaultDict[str, int]", "defaultdict[str,int]"),
    ("collections.Counter[str]", "Counter[str,int]"),
    ("collections.ChainMap[str, int]", "ChainMap[str,int]"),
    ("Optional[int]", "union[int,none]"),
    ("int | None", "union[int,none]"),
    ("int | str | None", "union[int,str,none]"),
    ("Union[int, str, int]", "union[int,str]"),
    ("Union[int]", "int"),
    ("Union[int, Union[str, None]]", "union[int,str,none]"),
    ("Literal['a', 1, True, None, -2, b'x']", "literal('a',1,True,None,-2,b'x')"),
    ("Literal[Mode.FAST]", "enum:Mode(FAST)"),
    ("Literal['a', Mode.FAST]", "union[literal('a'),enum:Mode(FAST)]"),
    ("Levels", "literal('low','high')"),
    ("Annotated[int, 'meta']", "int"),
    ("typing_extensions.Annotated[str, 3]", "str"),
    ("Final[int]", "int"),
    ("ClassVar[int]", "int"),
    ("Alias", "union[int,str]"),
    ("Nested", "list[union[int,str]]"),
    ("Explicit", "dict[str,union[int,str]]"),
    ("UserId", "int"),
    ("Free", "any"),
    ("Bound", "list[int]"),
    ("Constrained", "str"),
    ("AnyStr", "str"),
    ("Pair[int]", "tuple[int,int]"),
    ("Pair", "tuple[any,any]"),
    ("datetime.date", "datetime.date"),
    ("dt.datetime", "datetime.datetime"),
    ("datetime.time", "datetime.time"),
    ("datetime.timedelta", "datetime.timedelta"),
    ("datetime.tzinfo", "datetime.timezone"),
    ("decimal.Decimal", "decimal.Decimal"),
    ("fractions.Fraction", "fractions.Fraction"),
    ("numbers.Number", "union[int,float]"),
    ("numbers.Integral", "int"),
    ("pathlib.Path", "pathlib.Path"),
    ("pathlib.PurePath", "pathlib.PurePath"),
    ("os.PathLike[str]", "pathlib.PurePosixPath"),
    ("uuid.UUID", "uuid.UUID"),
    ("re.Pattern[str]", "re.Pattern"),
    ("Pattern", "re.Pattern"),
    ("ipaddress.IPv4Address", "ipaddress.IPv4Address"),
    ("ipaddress.IPv6Network", "ipaddress.IPv6Network"),
    ("IO[str]", "io.StringIO"),
    ("IO[bytes]", "io.BytesIO"),
    ("IO[Any]", "union[io.BytesIO,io.StringIO]"),
    ("Optional[TextIO]", "union[io.StringIO,none]"),
    ("Exception", "exception(Exception)"),
    ("KeyError | OSError", "union[exception(KeyError),exception(OSError)]"),
    ("Hashable", "hashable"),
    ("SupportsInt", "int"),
    ("type", "builtin(int,str,float,bool,list,dict,tuple)"),
    ("type[int]", "builtin(int)"),
    ("Type[Union[int, str]]", "builtin(int,str)"),
    ("Callable[[str], str]", "builtin(str.upper,str.lower,str.strip,str.title)"),
    ("Callable[..., Any]", "builtin(str,repr,len,bool,abs)"),
    ("Callable", "builtin(str,repr,len,bool,abs)"),
    ("Mode", "enum:Mode(FAST,SLOW)"),
    ("Level", "enum:Level(LOW,HIGH)"),
    ("Perm", "enum:Perm(R,W)"),
    ("Colour", "enum:Colour(RED,GREEN,BLUE)"),
    ("set[Mode]", "set[enum:Mode(FAST,SLOW)]"),
    ("Base", "dataclass:Base(x=int,y?=float)"),
    ("Child", "dataclass:Child(x=int,y?=float,z?=list[str],seed?=int)"),
    ("Row", "namedtuple:Row(a=int,b?=str)"),
    ("Made", "namedtuple:Made(a=int,b=list[str])"),
    ("Movie", "typeddict:Movie(title=str,year?=int)"),
    ("More", "typeddict:More(title=str,year?=int,stars=float,tags?=list[str])"),
    ("Functional", "typeddict:Functional(a-b?=int,c?=union[str,none])"),
    ("Plain", "object:Plain(name=str,size?=int,flag=bool)"),
    ("Heir", "object:Heir(name=str,size?=int,flag=bool)"),
    ("Empty", "object:Empty"),
    ("Concrete", "object:Concrete"),
    ("Meta", "object:Meta"),
    ("Failure", "object:Failure(code=int)"),
    ("Box[str]", "object:Box(item=str)"),
    ("Box", "object:Box(item=any)"),
    ("IntBox", "object:IntBox(item=int)"),
]

UNSUPPORTED = [
    ("", "unannotated"),
    ("Nowhere", "unresolved"),
    ("numpy.ndarray", "unresolved"),
    ("typing.NoReturn", "unsupported-type"),
    ("Awaitable[int]", "unsupported-type"),
    ("set[list[int]]", "unhashable"),
    ("dict[dict, int]", "unhashable"),
    ("set[Base]", "unhashable"),
    ("Endless", "recursive"),
    ("Untyped", "unannotated"),
    ("Proto", "unsupported-type"),
    ("Abstract", "unsupported-type"),
    ("OddMeta", "unsupported-type"),
    ("New", "unsupported-type"),
    ("FromDict", "unsupported-type"),
    ("type[Base]", "unsupported-type"),
    ("Callable[[Base], Base]", "unsupported-type"),
    ("3", "malformed"),
    ("'not a type ('", "malformed"),
    ("[int]", "malformed"),
    ("UnicodeDecodeError", "unsupported-type"),
    ("functools.partial", "unsupported-type"),
    ("'" + "list[" * 60 + "int" + "]" * 60 + "'", "too-large"),
]


def parameter(root: Path, annotation: str, prelude: str = PRELUDE) -> Type | Rejection:
    shown = f": {annotation}" if annotation else ""
    found = read(root, f"{prelude}\n\ndef f(x{shown}) -> str:\n    return ''\n", "f")
    return found if isinstance(found, Rejection) else found.parameters[0].type


@pytest.mark.parametrize(("annotation", "expected"), SUPPORTED)
def test_supported(tmp_path: Path, annotation: str, expected: str) -> None:
    found = parameter(tmp_path, annotation)
    assert isinstance(found, Type), found
    assert show(found) == expected


@pytest.mark.parametrize(("annotation", "reason"), UNSUPPORTED)
def test_unsupported(tmp_path: Path, annotation: str, reason: str) -> None:
    found = parameter(tmp_path, annotation)
    assert isinstance(found, Rejection), show(found)
    assert (found.stage, found.reason) == ("screen", reason)
    assert found.detail.startswith("x")


def test_without_postponed_evaluation(tmp_path: Path) -> None:
    prelude = PRELUDE.replace("from __future__ import annotations", "", 1)
    found = parameter(tmp_path, "'Mode'", prelude)
    assert isinstance(found, Type)
    assert show(found) == "enum:Mode(FAST,SLOW)"


def test_recursive_class_is_cut_off(tmp_path: Path) -> None:
    found = parameter(tmp_path, "Node")
    assert isinstance(found, Type)
    depth = 0
    inner = found
    while inner.fields:
        depth += 1
        nodes = [arg for field in inner.fields if field.name == "next" for arg in (field.type.args or (field.type,))]
        inner = next((node for node in nodes if node.fields), Type(kind="none", text="None"))
    assert depth == 2


def test_recursive_alias_is_cut_off(tmp_path: Path) -> None:
    found = parameter(tmp_path, "Json")
    assert isinstance(found, Type)
    inner = "union[none,int,str,list[never],dict[str,never]]"
    assert show(found) == f"union[none,int,str,list[{inner}],dict[str,{inner}]]"


def test_names_come_from_where_they_are_imported(tmp_path: Path) -> None:
    files = {
        "lib/__init__.py": "from .kinds import Kind as Sort, Ids\n",
        "lib/kinds.py": "import enum\nclass Kind(enum.Enum):\n    A = 1\nIds = 'list[Kind]'\nIds = list[Kind]\n",
        "app.py": "import lib\nfrom lib import Sort\ndef f(a: Sort, b: lib.Ids) -> int: return 1\n",
    }
    from exe.analysis.project import functions
    from exe.analysis.signatures import candidate

    project, made = package(tmp_path, files)
    (function,) = [one for one in functions(project) if one.qualname == "f"]
    found = candidate(project, function, made)
    assert isinstance(found, Candidate)
    assert found.origins == ("lib.kinds:Kind",)
    assert [show(p.type) for p in found.parameters] == ["enum:Kind(A)", "list[enum:Kind(A)]"]


RETURNS = [
    ("int", "int"),
    ("Iterator[int]", "iterator[int]"),
    ("Proto", "opaque:Proto"),
    ("Untyped", "opaque:Untyped"),
    ("Self", "object:Plain(name=str,size?=int,flag=bool)"),
    ("argparse.Namespace", "opaque"),
]


@pytest.mark.parametrize(("annotation", "expected"), RETURNS)
def test_return_types_need_not_be_built(tmp_path: Path, annotation: str, expected: str) -> None:
    source = PRELUDE.replace("def clone(self, other: Self) -> str", f"def clone(self, other: Self) -> {annotation}")
    found = read(
        tmp_path, "import argparse\n" + source.replace("from __future__ import annotations\n", ""), "Plain.clone"
    )
    assert isinstance(found, Candidate), found
    assert show(found.returns) == expected


@pytest.mark.parametrize(
    ("annotation", "reason"), [("None", "unsupported-type"), ("", "unannotated"), ("NoReturn", "unsupported-type")]
)
def test_what_is_no_return_type(tmp_path: Path, annotation: str, reason: str) -> None:
    arrow = f" -> {annotation}" if annotation else ""
    found = read(tmp_path, f"from typing import *\ndef f(x: int){arrow}:\n    return None\n", "f")
    assert isinstance(found, Rejection)
    assert (found.reason, found.detail.partition(":")[0]) == (reason, "return")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameter syntax needs Python 3.12 to be parsed")
def test_type_parameter_syntax(tmp_path: Path) -> None:
    source = "type Pairs[K] = dict[K, list[K]]\ndef f[T: int, U: (str, bytes), V](a: T, b: U, c: V, d: Pairs[str]) -> int: return 1\n"
    found = read(tmp_path, source, "f")
    assert isinstance(found, Candidate)
    assert [show(p.type) for p in found.parameters] == ["int", "str", "any", "dict[str,list[str]]"]
