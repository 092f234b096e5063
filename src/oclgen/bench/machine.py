"""The machine that a run was made on, and how busy it was."""

import os
import platform
from pathlib import Path

CPU_STATISTICS = Path("/proc/stat")
BUSY_FIELDS = (0, 1, 2, 5, 6, 7)
"""Fields of a `cpuN` line in `/proc/stat` that count busy time: user, nice, system, irq, softirq, steal."""


def describe() -> str:
    """`AMD EPYC 7B13, 2 cores, Linux 6.1`."""
    system = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return f"{processor()}, {os.cpu_count() or 1} cores, {system}"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or "unknown processor"


def load() -> float | None:
    """The load average of the last minute; None where the system has none."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None


def busy_seconds(core: int) -> float | None:
    """How long a core has been busy since the machine started, whoever used it; None where the system does not say."""
    try:
        lines = CPU_STATISTICS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        name, *ticks = line.split()
        if name == f"cpu{core}" and len(ticks) > max(BUSY_FIELDS):
            return float(sum(int(ticks[index]) for index in BUSY_FIELDS)) / os.sysconf("SC_CLK_TCK")
    return None
