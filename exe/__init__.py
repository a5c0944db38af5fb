"""Execution-Eval: builds and grades execution benchmarks from real-world Python code."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("execution-eval")
except PackageNotFoundError:  # a bare checkout on sys.path
    __version__ = "0+unknown"

__all__ = ["__version__"]
