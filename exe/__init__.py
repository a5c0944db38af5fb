"""Execution-Eval: builds and grades execution benchmarks from real-world Python code."""
