"""What one evaluation may use, and the surroundings that it sees."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one evaluation of one call; each is enforced by the kernel or from outside the process.

    `cpu_seconds` is the paper's validator 7; a program that ignores the signal which ends it gets up to two seconds
    more. `wall_seconds` counts from the fork; a process that is kept from the processor by others, not asleep, gets up
    to four times as long. `memory_bytes` is address space beyond what the worker itself has mapped. `result_bytes`
    bounds the plain form of the result, `output_bytes` what the program prints; over either, the outcome is `overflow`.
    `recursion_limit` is the depth that a program sees, counted as if its call stood at the top level of a module.
    """

    wall_seconds: float = 15.0
    cpu_seconds: float = 10.0
    memory_bytes: int = 1 << 30
    result_bytes: int = 1 << 20
    output_bytes: int = 16 << 20
    source_bytes: int = 16 << 20
    recursion_limit: int = 1000
    stack_bytes: int = 8 << 20

    @property
    def request_frame(self) -> int:
        """The longest request frame, in bytes: escaped source and calls."""
        return 8 * self.source_bytes + (1 << 20)

    @property
    def reply_frame(self) -> int:
        """The longest reply frame, in bytes: the plain form, its typed twin with annotations, and what is around them."""
        return 16 * self.result_bytes + (1 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preload:
    """Code that a worker executes once, behind its walls but before it forks: the import of an installed package.

    `folders` are paths of this machine, shown read-only and searched for modules after the standard library. `source` is
    executed with the rights of the zygote: it may read files, and what it leaves in `sys.modules` every call finds. So a
    worker's word is worth as much as the code it preloads; ground truth is never made in such a one.
    """

    folders: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Everything around a program that could leak into a result, held constant in every run of one sandbox.

    A hash seed other than 0 brings other surroundings with it: what depends on time zone, home folder, working
    directory, locale or host name disagrees between two certification runs instead of agreeing by luck.
    """

    hash_seed: int | None
    time_zone: str
    home: str
    host_name: str
    directory: str
    locale: str

    def environment(self) -> dict[str, str]:
        """The whole environment of the worker; nothing is inherited."""
        return {
            "PYTHONHASHSEED": "random" if self.hash_seed is None else str(self.hash_seed),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
            "LANG": self.locale,
            "LC_ALL": self.locale,
            "TZ": self.time_zone,
            "HOME": self.home,
            "PATH": "/usr/bin:/bin",
        }


def surroundings(hash_seed: int | None) -> Surroundings:
    """The canonical surroundings for seed 0 (and None, a random seed), others for every other seed."""
    if hash_seed in (0, None):
        return Surroundings(
            hash_seed=hash_seed,
            time_zone="UTC",
            home="/home/user",
            host_name="sandbox",
            directory="/",
            locale="C.UTF-8",
        )
    return Surroundings(
        hash_seed=hash_seed,
        time_zone="XYZ-09:30",
        home="/home/other",
        host_name="elsewhere",
        directory="/box",
        locale="C",
    )
