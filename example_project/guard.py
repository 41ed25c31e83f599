"""Guard: runs a module that must not outlive the process that started it.

``python -m example_project.guard MODULE ARGS…`` with a pipe as standard input whose other end only the parent holds.
When the parent is gone, however it went, the pipe ends, and so does this process with everything in its group.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

PATIENCE = 5.0  # seconds for a warm stop


def watch(pipe: int) -> None:
    """Waits for the end of the pipe, then stops this process: politely, then with its whole group."""
    while os.read(pipe, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def main() -> None:
    pipe = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    threading.Thread(target=watch, args=(pipe,), name="guard", daemon=True).start()
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
