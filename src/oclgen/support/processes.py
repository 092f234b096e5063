"""What a child process does to itself first: it dies with its parent and bounds its memory.

Imports the standard library only, because children that are started without site-packages use it, too.
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """From now on the kernel kills this process when `parent` ends, however it ends (Linux only).

    The kernel means the thread that started this process: it should live as long as the work lasts.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        os.kill(os.getpid(), signal.SIGKILL)


def limit_memory(limit: int) -> None:
    """Bound the address space to `limit` bytes; 0 is no bound."""
    if limit and sys.platform != "darwin":
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
