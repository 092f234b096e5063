"""The inside of a child of a search group: one search that posts what it finds and takes what the others find.

Started as `python -m oclgen.search_member PARENT ADDRESS_SPACE` by `search_group.py`, which says what the lines on
standard input and output are.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from threading import Lock, Thread
from time import sleep
from typing import Any, BinaryIO

from oclgen.support.processes import die_with_parent, limit_memory

REPORT_SECONDS = 0.25

Message = Mapping[str, Any]


def main(parent: str, address_space: str) -> None:
    die_with_parent(int(parent))
    limit_memory(int(address_space))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    send = sender(os.dup(1))
    os.dup2(2, 1)  # whatever a library prints is no message
    code = 1
    try:
        send(search(json.loads(sys.stdin.buffer.readline()), sys.stdin.buffer, send))
        code = 0
    except MemoryError:
        send({"ending": "memory"})
    except Exception as error:
        send({"ending": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(code)  # a thread still reads standard input, which an orderly end would wait for


def sender(descriptor: int) -> Callable[[Message], None]:
    """Writes messages, from any thread."""
    lock, stream = Lock(), os.fdopen(descriptor, "wb")

    def send(message: Message) -> None:
        with lock:
            stream.write(json.dumps(message).encode() + b"\n")
            stream.flush()

    return send


def search(job: Mapping[str, Any], others: BinaryIO, send: Callable[[Message], None]) -> Message:
    """Search until a limit or the parent ends it; returns the last message."""
    from oclgen.planner import prepare
    from oclgen.search.anytime import Budget, Counters, run
    from oclgen.search.extensions.exchange import Exchange
    from oclgen.search_group import as_plan, as_states

    budget = Budget(job["seconds"], job["iterations"], job["memory"], job["started"])
    counters = Counters()
    exchange = Exchange(lambda plan: send({"plan": plan}), lambda states: send({"states": states}))

    def listen() -> None:
        for line in others:
            message = json.loads(line)
            if "plan" in message:
                exchange.receive(as_plan(message["plan"]))
            exchange.receive_states(as_states(message.get("states", ())))
        budget.interrupt()

    def report() -> None:
        while True:
            sleep(REPORT_SECONDS)
            send({"counters": counters.as_dict()})

    for work in (listen, report):
        Thread(target=work, daemon=True).start()
    prepared = prepare(
        job["domain"], job["problem"], method="oclgen", model=Path(job["model"]), settings=job["settings"]
    )
    plans = prepared.unchecked_plans(budget, counters, job["seed"], share=lambda: nullcontext(exchange))
    result = run(plans, budget, counters)
    return {"counters": counters.as_dict(), "ending": result.ending.value}


if __name__ == "__main__":
    main(*sys.argv[1:])
