"""Small packages of many modules, generated from templates of the constructs that inlining has to get right.

A feature is a template: text for one module or for several that stand in an order of import (`features.py` reads them
from the `.txt` files beside it). A package is a dozen features laid over eight modules, with names that collide and
values that read one another (`packages.py`). Each feature has a witness, a function that shows it; `compare.py` calls
the witnesses in the package and in their programs.
"""
