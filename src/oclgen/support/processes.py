"""Ends of child processes: a child dies with its parent and bounds its memory; a parent ends a child with all of its
own.

Linux has a system call for the first; elsewhere a thread of the child waits for the parent's end. Imports the standard
library only, because children that are started without site-packages use it, too.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
SYNCHRONIZE, FOREVER = 0x00100000, 0xFFFFFFFF
KILLED = -9
"""Exit code of a child that was killed, for instance by a system without memory (Unix)."""
LOOK_SECONDS = 0.5


def die_with_parent(parent: int) -> None:
    """From now on this process ends when `parent` ends, however that happens.

    On Linux the kernel sees to it, and means the thread that started this process: it should live as long as the work
    lasts. Elsewhere a thread does, as long as this process does not become another program by `exec`.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=end_after, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it ended before the lines above
        os._exit(-KILLED)


def end_after(parent: int) -> None:
    """Wait for the end of the parent, then end this process."""
    if sys.platform == "win32":
        kernel = ctypes.windll.kernel32
        kernel.WaitForSingleObject(kernel.OpenProcess(SYNCHRONIZE, False, parent), FOREVER)
    else:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
    os._exit(-KILLED)


def limit_memory(limit: int) -> None:
    """Bound the address space to `limit` bytes; 0 is no bound. Neither macOS nor Windows can do this."""
    if limit and sys.platform not in ("darwin", "win32"):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def kill_tree(child: subprocess.Popen[bytes]) -> None:
    """Kill a child that was started in a session of its own, with all of its children, and collect it."""
    if child.poll() is not None:
        return
    if hasattr(os, "killpg"):
        os.killpg(child.pid, signal.SIGKILL)
    else:
        import psutil

        for descendant in psutil.Process(child.pid).children(recursive=True):
            descendant.kill()
        child.kill()
    child.wait()
