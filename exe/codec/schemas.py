"""The JSON Schemas (2020-12) of the files, as shipped beside the code."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

from exe.values import loads

Json = Any

SCHEMAS = ("program", "case", "rejection", "manifest", "completion", "attempt", "run", "score")


def schema(record: type | str) -> dict[str, Json]:
    """Return the JSON Schema (2020-12) of a record class or of a file named in `SCHEMAS`."""
    name = record if isinstance(record, str) else record.__name__.lower()
    if name not in SCHEMAS:
        raise KeyError(f"no schema for {name}")
    text = resources.files("exe").joinpath("schemas", f"{name}.json").read_text("utf-8")
    found: dict[str, Json] = loads(text)
    return found


def schema_errors(record: type | str) -> Callable[[Json], str | None]:
    """Return a check of JSON trees against a schema: the first error in one line, None where there is none.

    The validator is imported here, for only foreign files need it: it costs a hundred times what `from_json` does.
    """
    import jsonschema
    from referencing import Registry, Resource

    registry: Registry[Any] = Registry().with_resources(
        (loaded["$id"], Resource.from_contents(loaded)) for loaded in map(schema, SCHEMAS)
    )
    validator = jsonschema.Draft202012Validator(schema(record), registry=registry)

    def check(data: Json) -> str | None:
        error = next(iter(validator.iter_errors(data)), None)
        if error is None:
            return None
        return f"field {error.json_path.removeprefix('$').lstrip('.') or 'itself'!r}: {error.message[:200]}"

    return check
