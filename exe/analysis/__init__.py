"""Reading code without running it: modules and imports, scopes, annotations, metrics."""

from exe.analysis.modules import Function, Module
from exe.analysis.project import Defined, External, Project, Unresolved, functions, read_project

__all__ = ["Defined", "External", "Function", "Module", "Project", "Unresolved", "functions", "read_project"]
