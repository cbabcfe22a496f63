"""Commands in three threads, and one in the main thread if asked; TERM stops them, a second one KILLs them.

Arguments: `main` or `threads`, and the command. Prints `ready`, then what became of each as a line of JSON.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path

from kcut.system.proc import Ran, Supervisors

results: list[Ran] = []
told = 0


def work(supervisors: Supervisors, grace: float) -> None:
    results.append(supervisors.run(["sh", "-c", sys.argv[2]], cwd=Path("/"), env=dict(os.environ), grace=grace))


with Supervisors() as supervised:

    def on_signal(number: int, frame: object) -> None:
        global told  # noqa: PLW0603
        told += 1
        (supervised.stop if told == 1 else supervised.kill)()

    signal.signal(signal.SIGTERM, on_signal)
    grace = 0.3 if sys.argv[1] == "main" else 60.0
    threads = [threading.Thread(target=work, args=(supervised, grace)) for _ in range(3)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    if sys.argv[1] == "main":
        work(supervised, grace)
    for thread in threads:
        thread.join()
    results.append(supervised.run(["true"], cwd=Path("/"), env={}))
for ran in results:
    print(json.dumps({"code": ran.code, "interrupted": ran.interrupted, "error": ran.error, "seconds": ran.seconds}))
