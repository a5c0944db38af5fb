"""The child process that serves one GGUF file with llama.cpp on loopback; standard library and xllamacpp only.

Wire protocol. In, on stdin: one JSON line `{"path", "name", "key", "slots", "context", "states", "parent"}`,
`states` the folder in which states of slots are kept. Out, on stdout: one JSON
line, `{"address": "http://127.0.0.1:PORT"}` once /health says ready, or `{"error": "…"}` before an exit with code 1.
It ends when stdin closes or its parent dies. llama.cpp's own errors go to stderr.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any

PR_SET_PDEATHSIG = 1
READY_SECONDS = 120.0


def main() -> int:
    """Serve until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for our parent, which lets us finish what is in flight
    config = json.loads(sys.stdin.readline())
    _die_with(config["parent"])
    threading.Thread(target=_exit_at_end_of_stdin, daemon=True).start()
    os.environ["GOMP_SPINCOUNT"] = "500"  # read when libgomp loads; spinning threads starve a busy machine
    try:
        server = _start(config)
        _wait_until_ready(server.listening_address)
    except (ImportError, OSError, RuntimeError, TypeError, AttributeError, ValueError) as error:
        _say({"error": f"{type(error).__name__}: {error}"})
        return 1
    _say({"address": server.listening_address})
    threading.Event().wait()
    return 0


def _start(config: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = config["path"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [config["key"]]
    params.n_parallel = config["slots"]
    params.n_ctx = config["slots"] * config["context"]
    params.fit_params = False  # the context we ask for, not what happens to fit
    params.cache_ram_mib = 0
    params.ui = False
    params.offline = True
    params.endpoint_slots = False
    params.slot_save_path = config["states"]
    params.verbosity = 1
    return xllamacpp.Server(params)


def _wait_until_ready(address: str) -> None:
    """Poll /health; raises RuntimeError when it is not ready in time."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            with opener.open(f"{address}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the server was not ready in {READY_SECONDS:.0f} s ({error})") from None
            time.sleep(0.05)


def _die_with(parent: int) -> None:
    """Be killed when our parent ends, however it ends (Linux); elsewhere the end of stdin does it."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _exit_at_end_of_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _say(message: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
