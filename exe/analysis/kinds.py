"""The closed list of type kinds, and which standard-library name reads as which kind.

A kind is the name of a built-in (`int`), the dotted name of a standard-library class (`datetime.date`), or a shape:

    any        None, bool, int, float, str, and lists and string-keyed dicts of those (a JSON-like mix)
    hashable   None, bool, int, float or str: what `any` means for a set element or a dict key
    none       None alone
    union      one of `args`
    literal    one of `values`
    tuple      exactly `args`;   vartuple: any number of args[0]
    iterator   `iter([…])`;      generator: a generator over a list
    exception  an instance of the built-in exception in `values`, made of a message
    builtin    one of `values`, names of built-ins passed as classes or functions
    enum       a member, by one of the names in `values`
    dataclass, namedtuple, object   an instance built from `fields`;   typeddict: a dict with the keys of `fields`
    opaque     (return types only) a class that we need not build
    never      nothing at all: where a recursive type is cut off; a list of it is empty
"""

from __future__ import annotations

import builtins

BUILTINS = ("bool", "int", "float", "complex", "str", "bytes", "bytearray", "range")

STANDARD = (
    "decimal.Decimal",
    "fractions.Fraction",
    "datetime.date",
    "datetime.datetime",
    "datetime.time",
    "datetime.timedelta",
    "datetime.timezone",
    "pathlib.Path",
    "pathlib.PurePath",
    "pathlib.PosixPath",
    "pathlib.PurePosixPath",
    "pathlib.PureWindowsPath",
    "uuid.UUID",
    "re.Pattern",
    "ipaddress.IPv4Address",
    "ipaddress.IPv6Address",
    "ipaddress.IPv4Network",
    "ipaddress.IPv6Network",
    "ipaddress.IPv4Interface",
    "ipaddress.IPv6Interface",
    "io.StringIO",
    "io.BytesIO",
)

LISTS = ("list", "collections.deque", "set", "frozenset", "vartuple", "iterator", "generator")
DICTS = ("dict", "collections.OrderedDict", "collections.defaultdict", "collections.Counter", "collections.ChainMap")
SHAPES = ("any", "hashable", "none", "union", "literal", "tuple", "exception", "builtin", "never", "opaque")
CLASSES = ("enum", "dataclass", "namedtuple", "typeddict", "object")

KINDS = frozenset((*BUILTINS, *STANDARD, *LISTS, *DICTS, *SHAPES, *CLASSES))

SIMPLE = {
    **{f"builtins.{name}": name for name in BUILTINS},
    **{name: name for name in STANDARD},
    "builtins.object": "any",
    "typing.Any": "any",
    "types.NoneType": "none",
    "typing.Text": "str",
    "typing.LiteralString": "str",
    "typing.AnyStr": "str",
    "typing.ByteString": "bytes",
    "collections.abc.ByteString": "bytes",
    "collections.abc.Buffer": "bytes",
    "collections.abc.Hashable": "hashable",
    "typing.SupportsInt": "int",
    "typing.SupportsIndex": "int",
    "typing.SupportsAbs": "int",
    "typing.SupportsFloat": "float",
    "typing.SupportsRound": "float",
    "typing.SupportsComplex": "complex",
    "numbers.Integral": "int",
    "numbers.Rational": "fractions.Fraction",
    "numbers.Real": "float",
    "numbers.Complex": "complex",
    "datetime.tzinfo": "datetime.timezone",
    "os.PathLike": "pathlib.PurePosixPath",
    "typing.Pattern": "re.Pattern",
    "typing.TextIO": "io.StringIO",
    "io.TextIOBase": "io.StringIO",
    "typing.BinaryIO": "io.BytesIO",
}
"""Canonical dotted name → kind, for names whose type arguments do not matter or are at most `str`."""

_LIST_LIKE = {
    "list": "list",
    "deque": "collections.deque",
    "set": "set",
    "frozenset": "frozenset",
}

CONTAINERS = {
    **{f"builtins.{name}": kind for name, kind in _LIST_LIKE.items()},
    "collections.deque": "collections.deque",
    "typing.List": "list",
    "typing.Deque": "collections.deque",
    "typing.Set": "set",
    "typing.FrozenSet": "frozenset",
    "collections.abc.Sequence": "list",
    "collections.abc.MutableSequence": "list",
    "collections.abc.Iterable": "list",
    "collections.abc.Collection": "list",
    "collections.abc.Container": "list",
    "collections.abc.Sized": "list",
    "collections.abc.Reversible": "list",
    "collections.abc.Set": "set",
    "collections.abc.MutableSet": "set",
    "collections.abc.Iterator": "iterator",
    "collections.abc.Generator": "generator",
    "builtins.dict": "dict",
    "typing.Dict": "dict",
    "collections.abc.Mapping": "dict",
    "collections.abc.MutableMapping": "dict",
    "collections.OrderedDict": "collections.OrderedDict",
    "collections.defaultdict": "collections.defaultdict",
    "typing.DefaultDict": "collections.defaultdict",
    "collections.Counter": "collections.Counter",
    "collections.ChainMap": "collections.ChainMap",
}
"""Canonical dotted name → container kind; abstract containers read as their usual concrete type."""

WRAPPERS = frozenset(
    ("typing.Annotated", "typing.Final", "typing.ClassVar", "typing.Required", "typing.NotRequired", "typing.ReadOnly")
)
"""Names whose first argument is the type."""

CALLABLES = {
    0: ("int", "str", "list", "dict"),
    1: ("str", "repr", "len", "bool", "abs"),
    2: ("max", "min", "divmod"),
}
"""Built-ins passed for a Callable of so many parameters: pure, and at home in any program."""

CALLABLES_BY_TYPE: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {
    **{((), kind): (kind,) for kind in ("str", "int", "float", "bool", "list", "dict", "set")},
    (("str",), "str"): ("str.upper", "str.lower", "str.strip", "str.title"),
    (("str",), "int"): ("len", "int"),
    (("str",), "bool"): ("str.isdigit", "str.isupper", "bool"),
    (("int",), "int"): ("abs", "int", "bool"),
    (("int",), "str"): ("str", "hex", "bin", "chr"),
    (("int",), "bool"): ("bool",),
    (("float",), "float"): ("abs", "float"),
    (("float",), "int"): ("int", "round"),
    (("int", "int"), "int"): ("max", "min", "pow"),
    (("str", "str"), "str"): ("max", "min"),
}
"""Callables whose parameters and result are known to fit, by kinds."""

BUILTIN_CLASSES = ("int", "str", "float", "bool", "list", "dict", "tuple")
"""What `type` and `type[Any]` are given."""

_ABC_ALIASES = frozenset(
    [
        "Sequence",
        "MutableSequence",
        "Iterable",
        "Collection",
        "Container",
        "Sized",
        "Reversible",
        "MutableSet",
        "Iterator",
        "Generator",
        "Mapping",
        "MutableMapping",
        "Hashable",
        "Callable",
        "Awaitable",
        "Coroutine",
        "AsyncIterator",
        "AsyncIterable",
        "AsyncGenerator",
        "KeysView",
        "ValuesView",
        "ItemsView",
        "MappingView",
        "Buffer",
    ]
)


def canonical(dotted: str) -> str:
    """One name for all the spellings of a standard type: `typing_extensions.X` and `typing.Sequence` have twins."""
    head, _, tail = dotted.rpartition(".")
    if head in ("typing_extensions", "typing", "collections.abc"):
        if tail in _ABC_ALIASES:
            return f"collections.abc.{tail}"
        if head == "collections.abc":
            return dotted
        match tail:
            case "AbstractSet":
                return "collections.abc.Set"
            case "OrderedDict" | "Counter" | "ChainMap":
                return f"collections.{tail}"
            case "Type":
                return "builtins.type"
            case "Tuple":
                return "builtins.tuple"
        return f"typing.{tail}"
    if dotted.startswith("pathlib._local."):
        return "pathlib." + tail
    return dotted


def is_exception(name: str) -> bool:
    """Whether a canonical name is a built-in exception that a message alone makes."""
    module, _, last = name.rpartition(".")
    found = getattr(builtins, last, None) if module == "builtins" else None
    return (
        isinstance(found, type) and issubclass(found, BaseException) and "Unicode" not in last and "Group" not in last
    )


HASHABLE = frozenset(
    ("hashable", "none", "bool", "int", "float", "complex", "str", "bytes", "range", "enum", "literal", *STANDARD)
)
"""Kinds whose every value can be a set element (containers are decided by their arguments)."""
