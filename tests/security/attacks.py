"""Programs that try what a pure function must not, and how each must be classified.

An attack whose harm would be done returns "achieved" (or leaves a trace outside, which its test looks for); a `value`
outcome is only right where the program is allowed to go on, and must then be the value it says.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    name: str
    source: str
    allowed: tuple[str, ...]
    detail: str = ""  # a part of the detail, or the plain value as text for a `value`


def swallow(*lines: str) -> str:
    """A function that tries the lines, swallows whatever stops it, and claims success."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"def f():\n    try:\n{body}    except BaseException:\n        return 'stopped'\n    return 'achieved'\n"


FD_RANGE = "range(3, 64)"

WRITES = (
    Attack("open-write", swallow("open('{path}', 'w').write('x')"), ("impure",), "open"),
    Attack("open-append-inside-the-library", swallow("import os", "open(os.__file__, 'a')"), ("impure",), "open"),
    Attack("fileio-write", swallow("import _io", "_io.FileIO('{path}', 'w').write(b'x')"), ("impure",), "open"),
    Attack("os-open-write", swallow("import os", "os.open('{path}', os.O_CREAT | os.O_WRONLY)"), ("impure",), "open"),
    Attack("posix-open-write", swallow("import posix", "posix.open('{path}', 65)"), ("impure",), "open"),
    Attack("pathlib-write", swallow("import pathlib", "pathlib.Path('{path}').write_text('x')"), ("impure",), "open"),
    Attack("mkdir", swallow("import os", "os.mkdir('{path}')"), ("impure",), "os.mkdir"),
    Attack("symlink", swallow("import os", "os.symlink('/etc', '{path}')"), ("impure",), "os.symlink"),
    Attack("rename", swallow("import os", "os.rename('/box', '{path}')"), ("impure",), "os.rename"),
    Attack("unlink", swallow("import os", "os.unlink(os.__file__)"), ("impure",), "os.remove"),
    Attack("tempfile", swallow("import tempfile", "tempfile.mkstemp()"), ("impure",)),
    Attack("mkfifo-unaudited", "import os\ndef f():\n    os.mkfifo('{path}')\n    return 'achieved'\n", ("impure",)),
    Attack("mknod-unaudited", "import os\ndef f():\n    os.mknod('{path}')\n    return 'achieved'\n", ("impure",)),
)

READS = (
    Attack("proc-environ", swallow("open('/proc/self/environ').read()"), ("impure",), "open"),
    Attack("parent-environ", swallow("import os", "open(f'/proc/{os.getppid()}/environ').read()"), ("impure",), "open"),
    Attack("password-file", swallow("open('/etc/passwd').read()"), ("impure",), "open"),
    Attack("descriptor-zero", swallow("open(0).read()"), ("impure",), "open"),
    Attack("list-root", swallow("import os", "os.listdir('/')"), ("impure",), "os.listdir"),
    Attack("stdin", swallow("input()"), ("impure",), "builtins.input"),
    Attack("environment", "import os\ndef f():\n    return os.environ.get('EXE_SECRET', 'none')\n", ("value",), "none"),
)

NETWORK = (
    Attack(
        "inet", swallow("import socket", "socket.create_connection(('127.0.0.1', {port}), 1)"), ("impure",), "socket"
    ),
    Attack("unix", swallow("import socket", "socket.socket(socket.AF_UNIX)"), ("impure",), "socket.__new__"),
    Attack(
        "abstract", swallow("import _socket", "_socket.socket(1, 1).connect('\\0x')"), ("impure",), "socket.__new__"
    ),
    Attack("datagram", swallow("import socket", "socket.socket(2, 2)"), ("impure",), "socket.__new__"),
    Attack(
        "resolver", swallow("import socket", "socket.getaddrinfo('localhost', 80)"), ("impure",), "socket.getaddrinfo"
    ),
    Attack("urllib", swallow("import urllib.request as r", "r.urlopen('http://127.0.0.1:{port}')"), ("impure",)),
)

PROCESSES = (
    Attack("fork", swallow("import os", "os.fork() or os._exit(0)"), ("impure",), "os.fork"),
    Attack("exec", swallow("import os, sys", "os.execv(sys.executable, ['p'])"), ("impure",), "os.exec"),
    Attack("spawn", swallow("import os, sys", "os.posix_spawn(sys.executable, ['p'], {})"), ("impure",), "os.posix_spawn"),
    Attack("system", swallow("import os", "os.system('true')"), ("impure",), "os.system"),
    Attack("subprocess", swallow("import subprocess", "subprocess.run(['true'])"), ("impure",), "subprocess.Popen"),
    Attack("fork-exec-direct", swallow("import _posixsubprocess as p", "p.fork_exec()"), ("impure",), "import"),
    Attack("multiprocessing", swallow("import multiprocessing as m", "m.Process(target=print).start()"), ("impure",)),
    Attack("ctypes", swallow("import ctypes", "ctypes.CDLL(None).getpid()"), ("impure",), "import"),
    Attack("signal-parent", swallow("import os", "os.kill(os.getppid(), 9)"), ("impure",), "os.kill"),
    Attack("signal-group", swallow("import os", "os.killpg(0, 9)"), ("impure",), "os.killpg"),
    Attack("signal-owner", swallow("import fcntl", "fcntl.fcntl(0, 8, 1)"), ("impure",), "fcntl"),
    Attack("thread", swallow("import threading, time", "threading.Thread(target=time.sleep, args=(99,)).start()"),
           ("impure",), "_thread.start_new_thread"),
    Attack("memfd-unaudited", "import os\ndef f():\n    os.memfd_create('x')\n    return 'achieved'\n", ("impure",)),
    Attack("raise-signal", "import signal\ndef f():\n    signal.raise_signal(9)\n    return 'stopped'\n",
           ("crashed", "memory", "value", "impure")),
)  # fmt: skip

RESOURCES = (
    Attack("swallowing-loop", "def f():\n    while True:\n        try:\n            while True:\n                pass\n"
           "        except BaseException:\n            pass\n", ("timeout",)),
    Attack("signals-ignored", "import signal\nfor n in range(1, 32):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n"
           "    except Exception:\n        pass\ndef f():\n    while True:\n        pass\n", ("timeout",)),
    Attack("sleep", "import time\ndef f():\n    time.sleep(3600)\n", ("timeout",), "wall"),
    Attack("power", "def f():\n    return len(bin(7 ** (10 ** 9)))\n", ("timeout", "memory")),
    Attack("regex", "import re\ndef f():\n    return re.match('(a+)+$', 'a' * 64 + 'b')\n", ("timeout",)),
    Attack("loop-while-loading", "while True:\n    pass\n", ("timeout",)),
    Attack("memory-at-once", "def f():\n    return len(bytearray(10 ** 12))\n", ("memory",)),
    Attack("memory-in-steps", "def f():\n    kept = []\n    while True:\n        kept.append(bytearray(1 << 22))\n", ("memory",)),
    Attack("c-stack", "import sys\nsys.setrecursionlimit(600000)\ndef f(n=0):\n"
           "    return sorted([1, 2], key=lambda x: f(n + 1))\n", ("crashed", "error"), "SIGSEGV"),
    Attack("output-flood", "def f():\n    for i in range(200000):\n        print('x' * 10000)\n    return 1\n", ("overflow",)),
    Attack("error-output-flood", "import sys\ndef f():\n    while True:\n        sys.stderr.write('x' * 10000)\n", ("overflow",)),
    Attack("result-flood", "def f():\n    return 'x' * (8 << 20)\n", ("overflow",)),
    Attack("many-results", "def f():\n    return list(range(250_000))\n", ("overflow",)),
    Attack("error-flood", "def f():\n    raise ValueError('x' * (6 << 20))\n", ("overflow", "unrepresentable")),
    Attack("huge-integer", "def f():\n    return 1 << 4_000_000\n", ("overflow",)),
    Attack("endless-generator", "def f():\n    while True:\n        yield 1\n", ("unrepresentable",)),
    Attack("cyclic", "def f():\n    a = []\n    a.append(a)\n    return a\n", ("unrepresentable",)),
    Attack("deep", "def f():\n    a = []\n    for _ in range(100000):\n        a = [a]\n    return a\n", ("unrepresentable",)),
    Attack("deep-source", "x = " + "(" * 5000 + "1" + ")" * 5000 + "\ndef f():\n    return x\n", ("unloadable",)),
    Attack("deep-unary", "x = " + "-" * 200000 + "1\ndef f():\n    return x\n", ("unloadable", "crashed", "memory")),
)  # fmt: skip

HARNESS = (
    Attack("os-exit", "import os\ndef f():\n    os._exit(0)\n", ("crashed",), "no result"),
    Attack("abort", "import os\ndef f():\n    os.abort()\n", ("crashed",)),
    Attack("exit-handler", "import atexit, os\natexit.register(os._exit, 3)\ndef f():\n    return 1\n", ("value",), "1"),
    Attack("forged-frame", "import os\ndef f():\n    body = b'{\"status\":\"value\",\"plain\":{\"value\":9},\"typed\":{\"value\":9}}'\n"
           f"    for d in {FD_RANGE}:\n        try:\n"
           "            os.write(d, b'n' * 16 + b'V' + len(body).to_bytes(4, 'big') + body)\n"
           "        except OSError:\n            pass\n    os._exit(0)\n", ("forged",)),
    Attack("junk-before-the-reply", f"import os\ndef f():\n    for d in {FD_RANGE}:\n        try:\n            os.write(d, b'junk')\n"
           "        except OSError:\n            pass\n    return 1\n", ("forged",)),
    Attack("spoken-reply", "def f():\n    print('{\"status\": \"value\", \"plain\": {\"value\": 9}}', flush=True)\n    return 1\n", ("value",), "1"),
    Attack("closed-channel", "import os\ndef f():\n    os.closerange(0, 64)\n    return 1\n", ("crashed",)),
    Attack("closed-channel-and-on", "import os\ndef f():\n    os.closerange(0, 64)\n    while True:\n        pass\n", ("crashed",)),
    Attack("patched-json", "import json, json.encoder\njson.dumps = json.encoder.c_make_encoder = lambda *a, **k: '9'\n"
           "json.encoder.encode_basestring_ascii = lambda s: '9'\ndef f():\n    return 'one'\n", ("value",), "'one'"),
    Attack("patched-builtins", "import builtins\nfor n in ('isinstance', 'type', 'len', 'sorted', 'id', 'str', 'memoryview', 'hasattr',"
           " 'dict', 'list', 'BaseException', 'eval', 'exec', 'compile', 'getattr', 'max', 'min', 'zip', 'map', 'iter', 'repr'):\n"
           "    setattr(builtins, n, lambda *a, **k: 9)\ndef f():\n    return [1, 'a', (2,)]\n", ("value",), "[1, 'a', [2]]"),
    Attack("patched-os", "import os, sys, marshal\nfor m in (os, sys, marshal):\n    for n in ('write', '_exit', 'loads', 'setrecursionlimit',"
           " 'set_int_max_str_digits', 'strerror'):\n        if hasattr(m, n):\n            setattr(m, n, lambda *a, **k: 9)\n"
           "def f():\n    return 1\n", ("value",), "1"),
    Attack("harness-imported", "import sys\ndef f():\n    return [n for n in sys.modules if n.startswith('exe')]\n", ("value",), "[]"),
    Attack("harness-import", "import exe.sandbox.child\ndef f():\n    return 1\n", ("unloadable",), "ModuleNotFoundError"),
    Attack("frame-walk", swallow("try:", "    1 / 0", "except ZeroDivisionError as e:", "    frame = e.__traceback__.tb_frame",
           "while frame.f_back:", "    frame = frame.f_back"), ("impure",), "object.__getattr__"),
    Attack("getframe", swallow("import sys", "sys._getframe(3).f_locals"), ("impure",), "sys._getframe"),
    Attack("inspect-frame", swallow("import inspect", "inspect.currentframe().f_back.f_locals"), ("impure",), "sys._getframe"),
    Attack("logging-frame", swallow("import logging", "logging.currentframe().f_back"), ("impure",), "sys._getframe"),
    Attack("walk-traceback", swallow("import traceback", "try:", "    1 / 0", "except ZeroDivisionError as e:",
           "    list(traceback.walk_tb(e.__traceback__))"), ("impure",), "object.__getattr__"),
    Attack("generator-frame", swallow("g = (x for x in [1])", "g.gi_frame.f_back"), ("impure",), "object.__getattr__"),
    Attack("current-frames", swallow("import sys", "sys._current_frames()"), ("impure",), "sys._current_frames"),
    Attack("collector", swallow("import gc", "gc.get_objects()"), ("impure",), "gc.get_objects"),
    Attack("trace", swallow("import sys", "sys.settrace(print)"), ("impure",), "sys.settrace"),
    Attack("profile", swallow("import sys", "sys.setprofile(print)"), ("impure",), "sys.setprofile"),
    Attack("audit-hook", swallow("import sys", "sys.addaudithook(print)"), ("impure",), "sys.addaudithook"),
    Attack("code-under-a-trusted-name", swallow("import os", "exec(compile('import sys; sys._getframe(2)', os.__file__, 'exec'))"),
           ("impure",), "compile"),
    Attack("made-code", swallow("f.__code__.replace(co_filename='<frozen os>')"), ("impure",), "code.__new__"),
    Attack("low-recursion-limit", "import sys\ndef f():\n    sys.setrecursionlimit(50)\n    return 1\n", ("value",), "1"),
    Attack("lowest-recursion-limit", "import sys\nsys.setrecursionlimit(5)\ndef f():\n    return 1\n", ("value",), "1"),
    Attack("evil-repr", "class A:\n    def __init__(self):\n        self.x = 1\n    def __repr__(self):\n        raise SystemExit\n"
           "    __str__ = __reduce__ = __hash__ = __repr__\ndef f():\n    return A()\n", ("value",), "{'x': 1}"),
    Attack("evil-equality", "class A(int):\n    def __eq__(self, other):\n        raise SystemExit\n    __hash__ = None\n"
           "    def __str__(self):\n        return '9'\n    __int__ = __index__ = lambda self: 9\ndef f(a=1):\n    return A(1)\n",
           ("value", "unrepresentable"), "1"),
    Attack("evil-class", "class A:\n    __slots__ = ()\n    @property\n    def __class__(self):\n        return int\ndef f():\n    return A()\n",
           ("value", "unrepresentable"), "{}"),
    Attack("evil-error-text", "class E(Exception):\n    def __str__(self):\n        raise KeyboardInterrupt\ndef f():\n    raise E\n",
           ("unrepresentable", "error")),
    Attack("system-exit", "def f():\n    raise SystemExit(3)\n", ("error",), "SystemExit"),
    Attack("interrupt", "def f():\n    raise KeyboardInterrupt\n", ("error",), "KeyboardInterrupt"),
    Attack("exit-while-loading", "raise SystemExit\n", ("unloadable",), "SystemExit"),
    Attack("destructor", "import os\nclass A:\n    def __del__(self):\n        os._exit(0)\nkept = A()\ndef f():\n    return 1\n", ("value",), "1"),
)  # fmt: skip

ATTACKS = WRITES + READS + NETWORK + PROCESSES + RESOURCES + HARNESS
