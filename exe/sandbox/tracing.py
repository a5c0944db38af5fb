"""Runtime metrics of one call: counts only, from runs apart from the one that decides the outcome.

What is counted, from the call of the entry to its return (loading the program is not counted):

| metric | definition |
|---|---|
| lines_executed | times that execution reached a line of the program (one per line reached, every time) |
| lines_covered | distinct lines of the program among those |
| library_lines | times that execution reached a line of Python code outside the program |
| calls_user | calls of functions, methods, lambdas and class bodies defined in the program; comprehensions and the resuming of a generator are no calls |
| calls_builtin | calls of functions and methods implemented in C (not of types: `range`, `int`), made by the program's own code |
| calls_total | the sum of these two and of `calls_library` |
| calls_library | calls of Python functions outside the program, by whomever |
| max_call_depth | functions of the program active at once, at most; the entry alone is 1 |
| conditionals | tests evaluated: `if`, `elif`, `while`, conditional expressions, `if` in comprehensions |
| loop_iterations | passes begun of `for`, `while` and comprehension loops |
| arithmetic | evaluations of `+ - * / // % **`, binary or augmented; `arithmetic_add` and so on by operator |
| variables | distinct local variables bound in functions of the program, by function |
| variables_used | those of them that are read on a line which was executed |

A run that fails or ends early in another way than the first counts nothing: the caller gets empty metrics.
"""

from __future__ import annotations

import ast
import dis
import itertools
import opcode
import sys
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any

OPERATORS: tuple[tuple[type[ast.operator], str], ...] = (
    (ast.Add, "add"),
    (ast.Sub, "sub"),
    (ast.Mult, "mul"),
    (ast.Div, "div"),
    (ast.FloorDiv, "floordiv"),
    (ast.Mod, "mod"),
    (ast.Pow, "pow"),
)
_SOURCE_NAME = "<program>"
_MODULE = "program"
_NO_CALLS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>"})
_RESUME = opcode.opmap["RESUME"]
_READS = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "LOAD_DEREF",
                    "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_CLOSURE"})  # fmt: skip
_set_trace = sys.settrace
_set_profile = sys.setprofile
_set_limit = sys.setrecursionlimit
_ROOM = 200  # frames of ours, so that a traced run is not cut shorter than the first


def measure(code: CodeType, instrumented: CodeType, call: str, recursion_limit: int) -> dict[str, Any]:
    """Run the call twice more, once watched and once instrumented: `{"metrics": {name: count}, "lines": [line, …]}`.

    Must run in a process of its own. An instrumented run whose program does not load leaves its counts out.
    """
    _set_limit(recursion_limit + _ROOM)
    expression = compile(call, "<call>", "eval", dont_inherit=True)
    watch = Watch()
    watch.run(code, expression)
    counts = count_syntax(instrumented, expression)
    metrics = {**watch.metrics(), **counts}
    return {"metrics": metrics, "lines": sorted(watch.lines)}


def _fresh_namespace() -> dict[str, Any]:
    module = ModuleType(_MODULE)
    sys.modules[_MODULE] = module
    return module.__dict__


def _settle(run: Callable[[], Any]) -> None:
    """Call, and drain what is an iterator as the encoder would: an exception is a result like any other."""
    try:
        value = run()
        if hasattr(type(value), "__next__"):
            for _ in itertools.islice(value, 10_000):
                continue
    except BaseException:  # noqa: BLE001 - the outcome is known from the first run; here only counts matter
        return


class Watch:
    """Counts lines and calls through `sys.settrace` and `sys.setprofile`."""

    def __init__(self) -> None:
        self.lines: set[int] = set()
        self.executed = 0
        self.library = 0
        self.user_calls = 0
        self.builtin_calls = 0
        self.library_calls = 0
        self.depth = 0
        self.deepest = 0
        self.variables: set[tuple[int, str, str]] = set()
        self.codes: set[CodeType] = set()

    def run(self, code: CodeType, expression: CodeType) -> None:
        """Load the program unwatched, then evaluate the call watched."""
        namespace = _fresh_namespace()
        exec(code, namespace)  # noqa: S102 - inside the walls

        def evaluate() -> Any:
            _set_profile(self._profile)
            _set_trace(self._trace)
            return eval(expression, namespace)  # noqa: S307 - inside the walls

        try:
            _settle(evaluate)
        finally:
            _set_trace(None)
            _set_profile(None)

    def metrics(self) -> dict[str, int]:
        """The counts so far."""
        return {
            "lines_executed": self.executed,
            "lines_covered": len(self.lines),
            "library_lines": self.library,
            "calls_user": self.user_calls,
            "calls_builtin": self.builtin_calls,
            "calls_library": self.library_calls,
            "calls_total": self.user_calls + self.builtin_calls + self.library_calls,
            "max_call_depth": self.deepest,
            "variables": len(self.variables),
            "variables_used": len(self._used()),
        }

    def _used(self) -> set[tuple[int, str, str]]:
        """The variables that an executed line reads, as told by the instructions of that line."""
        used: set[tuple[int, str, str]] = set()
        for code in self.codes:
            for instruction in dis.get_instructions(code):
                line = instruction.positions.lineno if instruction.positions else None
                if line in self.lines and instruction.opname in _READS:
                    names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
                    used.update(
                        (code.co_firstlineno, code.co_qualname, name)
                        for name in names[instruction.opname.startswith("STORE") :]
                    )
        return used & self.variables

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        name = frame.f_code.co_filename
        if name == _SOURCE_NAME:
            return self._program_line
        return None if name in ("<call>", __file__) else self._library_line

    def _program_line(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        if event == "line":
            self.executed += 1
            self.lines.add(frame.f_lineno)
        return self._program_line

    def _library_line(self, _frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        if event == "line":
            self.library += 1
        return self._library_line

    def _profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        ours = code.co_filename == _SOURCE_NAME
        if event == "c_call":
            self.builtin_calls += ours or code.co_filename == "<call>"
        elif code.co_name in _NO_CALLS or code.co_filename in ("<call>", __file__):
            return
        elif event == "call":
            started = _starts(frame)
            if ours:
                self.user_calls += started
                self.depth += 1
                self.deepest = max(self.deepest, self.depth)
            else:
                self.library_calls += started
        elif event == "return" and ours:
            self.depth -= 1
            self.codes.add(code)
            self.variables.update((code.co_firstlineno, code.co_qualname, name) for name in frame.f_locals)


def _starts(frame: FrameType) -> bool:
    """Whether a call event is the function's start, not a generator's or coroutine's resumption."""
    at = frame.f_lasti
    instruction = frame.f_code.co_code[at : at + 2]
    return at < 0 or instruction[0] != _RESUME or instruction[1] & 3 == 0


def instrument(source: str) -> CodeType:
    """The program with counters in it."""
    tree = Instrument().visit(ast.parse(source))
    code: CodeType = compile(ast.fix_missing_locations(tree), _SOURCE_NAME, "exec", dont_inherit=True)
    return code


def count_syntax(code: CodeType, expression: CodeType) -> dict[str, int]:
    """Run an instrumented program: how often tests, loop bodies and arithmetic were evaluated."""
    namespace = _fresh_namespace()
    names = ("test", "pass", *(name for _, name in OPERATORS))
    counters = {name: itertools.count() for name in names}
    namespace.update({_PREFIX + name: counter.__next__ for name, counter in counters.items()})
    exec(code, namespace)  # noqa: S102 - inside the walls
    before = {name: next(counter) for name, counter in counters.items()}
    _settle(lambda: eval(expression, namespace))  # noqa: S307 - inside the walls
    counted = {name: next(counter) - before[name] - 1 for name, counter in counters.items()}
    arithmetic = {f"arithmetic_{name}": counted[name] for _, name in OPERATORS if counted[name]}
    return {
        "conditionals": counted["test"],
        "loop_iterations": counted["pass"],
        "arithmetic": sum(arithmetic.values()),
        **arithmetic,
    }


_PREFIX = "_counter_of_"


def _tick(name: str) -> ast.expr:
    return ast.Call(func=ast.Name(_PREFIX + name, ast.Load()), args=[], keywords=[])


def _first_tick(name: str, value: ast.expr) -> ast.expr:
    """`(tick(), value)[1]`."""
    pair = ast.Tuple(elts=[_tick(name), value], ctx=ast.Load())
    return ast.Subscript(value=pair, slice=ast.Constant(1), ctx=ast.Load())


class Instrument(ast.NodeTransformer):
    """Puts a counter before every test, loop pass and arithmetic operation; values and their order stay the same."""

    def visit_If(self, node: ast.If) -> ast.AST:
        """`if` and `elif`."""
        self.generic_visit(node)
        node.test = _first_tick("test", node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """`a if test else b`."""
        self.generic_visit(node)
        node.test = _first_tick("test", node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        """Each test is a conditional, each pass an iteration."""
        self.generic_visit(node)
        node.test = _first_tick("test", node.test)
        node.body.insert(0, ast.Expr(_tick("pass")))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """Each pass is an iteration."""
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_tick("pass")))
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        """Each pass is an iteration."""
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_tick("pass")))
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Each pass is an iteration, each `if` a conditional."""
        self.generic_visit(node)
        node.ifs = [_first_tick("test", test) for test in node.ifs]
        node.ifs.insert(0, ast.Tuple(elts=[_tick("pass")], ctx=ast.Load()))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Arithmetic only; `|` on types and `<<` are left alone."""
        self.generic_visit(node)
        name = _operator_name(node.op)
        return node if name is None else _first_tick(name, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        """`x += 1` counts as one addition."""
        self.generic_visit(node)
        name = _operator_name(node.op)
        return node if name is None else [ast.Expr(_tick(name)), node]

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """Patterns hold literals, `-1 + 2j` among them; they compute nothing."""
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """The same for keys of mapping patterns."""
        return node


def _operator_name(operator: ast.operator) -> str | None:
    return next((name for kind, name in OPERATORS if isinstance(operator, kind)), None)
