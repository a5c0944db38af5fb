"""The filters, run by a small BPF interpreter of the test's own."""

from __future__ import annotations

import struct

import pytest

from exe.sandbox import seccomp

ALLOW, KILL, EPERM, ENOSYS, ENOTTY = 0x7FFF0000, 0x80000000, 0x50001, 0x50026, 0x50019
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def answer(program: seccomp.Filter, arch: int, number: int, *arguments: int) -> int:
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<iIQ6Q", number, arch, 0, *padded)
    accumulator, at = 0, 0
    while True:
        code, yes, no, operand = program.code[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, operand)
            case 0x05:
                at += operand
            case 0x06:
                return operand
            case 0x15:
                at += yes if accumulator == operand else no
            case 0x35:
                at += yes if accumulator >= operand else no
            case 0x45:
                at += yes if accumulator & operand else no
            case _:
                raise AssertionError(f"no such instruction: {code:#x}")


def both(machine: str, number: int, *arguments: int) -> int:
    """What a child is answered: the stricter of the zygote's filter, which it has inherited, and of its own."""
    answers = [answer(seccomp.assemble(zygote, machine), ARCH[machine], number, *arguments) for zygote in (True, False)]
    return KILL if KILL in answers else next((found for found in answers if found != ALLOW), ALLOW)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("name", "arguments", "zygote", "child"),
    [
        ("read", (0,), ALLOW, ALLOW),
        ("exit_group", (0,), ALLOW, ALLOW),
        ("clone", (0x1200011,), ALLOW, KILL),
        ("clone", (0x10000000 | 17,), EPERM, KILL),
        ("clone", (0x3D0F00,), EPERM, KILL),
        ("clone3", (), ENOSYS, ENOSYS),
        ("socket", (2, 1), EPERM, KILL),
        ("execve", (), EPERM, KILL),
        ("kill", (1, 9), ALLOW, KILL),
        ("prctl", (22,), ALLOW, EPERM),
        ("openat", (0, 0, 0o2000000), ALLOW, ALLOW),
        ("openat", (0, 0, 1), EPERM, EPERM),
        ("openat", (0, 0, 2), EPERM, EPERM),
        ("openat", (0, 0, 0o100), EPERM, EPERM),
        ("fcntl", (3, 3), ALLOW, ALLOW),
        ("fcntl", (3, 8), EPERM, EPERM),
        ("fcntl", (3, 4), EPERM, EPERM),
        ("ioctl", (1, 0x5401), ENOTTY, ENOTTY),
        ("prlimit64", (0, 7, 0), ALLOW, ALLOW),
        ("prlimit64", (0, 7, 4096), ALLOW, EPERM),
        ("prlimit64", (0, 7, 1 << 32), ALLOW, EPERM),
        ("prlimit64", (9, 7, 0), ALLOW, EPERM),
    ],
)
def test_answers(machine: str, name: str, arguments: tuple[int, ...], zygote: int, child: int) -> None:
    number = seccomp.NUMBERS[name][seccomp.ARCHITECTURES[machine][1]]
    assert number is not None
    assert answer(seccomp.assemble(True, machine), ARCH[machine], number, *arguments) == zygote
    assert both(machine, number, *arguments) == child


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_other_call_is_refused(machine: str) -> None:
    column = seccomp.ARCHITECTURES[machine][1]
    program = seccomp.assemble(zygote=True, machine=machine)
    known = {numbers[column] for numbers in seccomp.NUMBERS.values()}
    for number in set(range(600)) - known:
        assert answer(program, ARCH[machine], number) == EPERM, number
    assert len(program.code) < 4096


def test_foreign_entries_kill() -> None:
    program = seccomp.assemble(zygote=False, machine="x86_64")
    assert answer(program, 0x40000003, 1) == KILL  # i386
    assert answer(program, ARCH["x86_64"], 0x40000000) == KILL  # x32
    assert answer(seccomp.assemble(zygote=False, machine="aarch64"), ARCH["x86_64"], 64) == KILL


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_second_filter_only_takes_away(machine: str) -> None:
    """It is loaded for every call, so it must stay short; and it must know each call that it leaves to the first."""
    assert len(seccomp.assemble(zygote=False, machine=machine).code) < 120
    for name, numbers in seccomp.NUMBERS.items():
        number = numbers[seccomp.ARCHITECTURES[machine][1]]
        if number is not None and answer(seccomp.assemble(True, machine), ARCH[machine], number) == EPERM:
            assert both(machine, number) != ALLOW, name


def test_conditional_jumps_fit_their_byte() -> None:
    for machine in ARCH:
        assert len(seccomp.assemble(zygote=True, machine=machine).bytes) % 8 == 0
