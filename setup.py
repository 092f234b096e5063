"""Builds the inference kernel: one small C library, loaded with ctypes, so one wheel serves every Python.

The system's C compiler is used where there is one; otherwise pip brings a compiler of its own (ziglang).
On x86-64 the kernel is compiled twice and the machine's instruction set decides which half runs.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

FLAGS = ["-std=gnu11", "-O3", "-fvisibility=hidden", "-Wall", "-Wno-psabi"]
FLAGS += [] if os.name == "nt" else ["-fPIC"]
FAST = ["-mavx2", "-mfma"]


def system_compiler() -> list[str] | None:
    """$CC or one of the usual names, if it can really make a library."""
    for name in [os.environ["CC"]] if os.environ.get("CC") else ["cc", "gcc", "clang"]:
        if shutil.which(name.split()[0]) and works(name.split()):
            return name.split()
    return None


def works(command: list[str]) -> bool:
    """A compiler may be there without the headers it needs."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "try.c")
        source.write_text("#include <math.h>\nfloat root(float x) { return sqrtf(x); }\n")
        tried = [*command, "-shared", "-fPIC", str(source), "-o", str(Path(folder, "try.so")), "-lm"]
        return subprocess.run(tried, capture_output=True, check=False).returncode == 0


def compiler() -> list[str]:
    zig = [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]  # zig's default is this very machine
    return system_compiler() or zig


class BuildKernel(build_ext):
    """Compiles the kernel's variants and links them into one library without Python in it."""

    def build_extension(self, ext: Extension) -> None:
        *kernel, cpu = ext.sources
        fast = platform.machine().lower() in ("x86_64", "amd64")
        folder = Path(self.build_temp)
        folder.mkdir(parents=True, exist_ok=True)
        objects = []
        for variant, flags in [("baseline", []), *([("fast", FAST)] if fast else [])]:
            for source in kernel:
                target = folder / f"{Path(source).stem}_{variant}.o"
                objects.append(self.compile(source, target, [f"-DVARIANT={variant}", *flags]))
        objects.append(self.compile(cpu, folder / "cpu.o", ["-DFAST_VARIANT"] if fast else []))
        library = Path(self.get_ext_fullpath(ext.name))
        library.parent.mkdir(parents=True, exist_ok=True)
        math = [] if os.name == "nt" else ["-lm"]
        run([*compiler(), "-shared", "-o", str(library), *objects, *math])

    def compile(self, source: str, target: Path, flags: list[str]) -> str:
        run([*compiler(), *FLAGS, *flags, "-c", source, "-o", str(target)])
        return str(target)

    def get_ext_filename(self, ext_name: str) -> str:
        return str(Path(*ext_name.split("."))) + (".dll" if os.name == "nt" else ".so")  # macOS loads .so, too


class PlatformWheel(bdist_wheel):
    """The library depends on the platform, not on the Python version."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


def run(command: list[str]) -> None:
    print(" ".join(command))
    subprocess.run(command, check=True)


setup(
    ext_modules=[
        Extension(
            "oclgen.inference.kernel.libkernel",
            [
                f"src/oclgen/inference/kernel/{name}.c"
                for name in ("kernel", "relational", "relational_decoder", "kernel_cpu")
            ],
            depends=[f"src/oclgen/inference/kernel/{name}.h" for name in ("kernel", "kernel_tile")],
        )
    ],
    cmdclass={"build_ext": BuildKernel, "bdist_wheel": PlatformWheel},
    setup_requires=[] if system_compiler() else ["ziglang"],
)
