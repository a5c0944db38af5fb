"""`exe show`: a set, a program or a case, for people."""

from __future__ import annotations

import ast
import json
from collections import Counter

import click

from exe import codec, taskset
from exe.cli import generators, options, prompts
from exe.cli.text import printable
from exe.errors import UsageError
from exe.records import Case, Program, Rejection
from runners.prompt import Style


@click.command()
@click.argument("subject", required=False)
@options.set_option()
@options.json_option
@click.option("--provenance", is_flag=True, help="Say above each part of a program where it was written.")
@click.option(
    "--generators", "by_generator", is_flag=True, help="Compare what the generators of the set gave and cost."
)
@click.option("--prompt", "prompt", is_flag=True, help="Print what a model is asked about a case, as it is sent.")
@click.option("--model", default=None, metavar="MODEL", help="For --prompt: the model that is asked.")
@click.option(
    "--style", type=click.Choice(["direct", "cot"]), default="direct", help="For --prompt: as --prompt of exe run."
)
@click.option("--with", "others", multiple=True, metavar="NAME|DIR", help="A set to compare with; may be given again.")
@options.unsafe_option
def command(
    subject: str | None,
    set_name: str,
    as_json: bool,
    provenance: bool,
    by_generator: bool,
    prompt: bool,
    model: str | None,
    style: Style,
    others: tuple[str, ...],
    unsafe: bool,
) -> None:
    """Show a set, a program or a case.

    SUBJECT is the id of a program or case, or part of a function's name (package:module:qualname); without one the set itself.
    """
    if (others and not by_generator) or (by_generator and subject is not None):
        raise UsageError("--generators compares whole sets, --with names further ones for it: give neither a SUBJECT")
    tasks = taskset.read_set(options.set_folder(set_name))
    if by_generator:
        sets = [tasks, *(taskset.read_set(options.set_folder(other)) for other in others)]
        click.echo(generators.report(sets, unsafe=unsafe, as_json=as_json))
        return
    case = next((case for case in tasks.cases if case.id == subject), None)
    if prompt or model is not None:
        if case is None or not prompt or model is None:
            raise UsageError("--prompt goes with the id of a case and --model MODEL")
        click.echo(prompts.as_sent(tasks, case, model, style, as_json=as_json))
        return
    if subject is None:
        click.echo(json.dumps(codec.to_json(tasks.manifest)) if as_json else _set(tasks))
        return
    if case is not None:
        click.echo(codec.dump_line(case).decode().rstrip() if as_json else _case(tasks.programs[case.program], case))
        return
    programs = [
        program for program in tasks.programs.values() if subject == program.id or subject in program.origin.function
    ]
    if not programs:
        raise UsageError(
            f"{subject}: no program or case of {tasks.directory} has this id or name; `exe show --set {set_name}` lists them"
        )
    if len(programs) > 1:
        exact = [program for program in programs if program.origin.function.endswith(f":{subject}")]
        programs = exact if len(exact) == 1 else programs
    if as_json:
        click.echo(b"".join(codec.dump_line(program) for program in programs).decode().rstrip())
    elif len(programs) > 1:
        click.echo("\n".join(f"{program.id}  {program.origin.function}" for program in programs))
    else:
        cases = [case for case in tasks.cases if case.program == programs[0].id]
        click.echo(_program(programs[0], cases, provenance=provenance))


def _set(tasks: taskset.TaskSet) -> str:
    manifest = tasks.manifest
    rejections = Counter((r.stage, r.reason) for r in codec.read_jsonl(tasks.directory / "rejections.jsonl", Rejection))
    per_program = Counter(case.program for case in tasks.cases)
    lines = [
        f"{manifest.name}: {len(tasks.cases)} cases of {len(tasks.programs)} programs, Python {manifest.python}, seed {manifest.seed}, {manifest.isolation}",
        f"sha256 {tasks.sha256}, canary {manifest.canary}",
        "",
        "programs (cases):",
        *(
            f"  {program.id}  {program.origin.function} ({per_program[program.id]})"
            for program in tasks.programs.values()
        ),
        "",
        "not used, and why:",
        *(f"  {count:6}  {stage}: {reason}" for (stage, reason), count in rejections.most_common()),
    ]
    return "\n".join(lines)


def _program(program: Program, cases: list[Case], *, provenance: bool) -> str:
    origin = program.origin
    lines = [
        f"# {program.origin.function}  {origin.package} {origin.version}, {origin.license}, {origin.path}:{origin.line}",
        f"# program {program.id}, entry {program.entry}",
        "",
        _with_places(program) if provenance else printable(program.source.rstrip()),
        "",
    ]
    lines += [f"# {case.id}\n{printable(case.call)}\n# {_short(json.dumps(case.expected))}" for case in cases]
    return "\n".join(lines)


def _with_places(program: Program) -> str:
    """The program behind a margin of line numbers; lines that have none say where the block below was written."""
    source = program.source.rstrip().split("\n")
    places = _places(program)
    width = len(str(len(source)))
    lines = [f"{'':{width}} ┌ imports from the standard library"] if 1 not in places else []
    for number, text in enumerate(source, 1):
        if number in places:
            lines.append(f"{'':{width}} ┌ {printable(places[number])}")
        lines.append(f"{number:{width}} │ {printable(text)}".rstrip())
    return "\n".join(lines)


def _places(program: Program) -> dict[int, str]:
    """Where each block was written, by its first line; where a set does not tell, the names that it binds do."""
    if program.places:
        return {int(number): place for number, place in program.places.items()}
    found: dict[int, str] = {}
    for node in ast.parse(program.source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        names = [getattr(target, "id", getattr(target, "name", "")) for target in targets]
        known = [program.provenance[name] for name in names if name in program.provenance]
        if known:
            found[min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])] = ", ".join(known)
    return found


def _case(program: Program, case: Case) -> str:
    return "\n".join(
        [
            _program(program, [case], provenance=False),
            f"# runtime {json.dumps(case.runtime)}",
            f"# generator {case.generator}",
        ]
    )


def _short(text: str, limit: int = 500) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
