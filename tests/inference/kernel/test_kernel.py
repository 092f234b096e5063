"""The compiled kernel: odd sizes, results that do not depend on the batch, threads, and memory it may not touch."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from oclgen.errors import InputError
from oclgen.inference.kernel import binding
from oclgen.inference.kernel.binding import load_kernel, variants
from oclgen.inference.kernel.network import Linear
from oclgen.inference.words.heuristic_engine import NativeHeuristicEngine
from oclgen.inference.words.policy_engine import NativePolicyEngine
from tests.inference.words.models import VOCABULARY, random_checkpoint, random_prompt


@pytest.mark.parametrize("variant", variants())
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (16, 16), (33, 50), (128, 17), (15, 130)])
def test_linear_layers_of_any_size_and_number_of_rows(variant: str, inputs: int, outputs: int) -> None:
    rng = np.random.default_rng(0)
    weight, bias = rng.normal(size=(outputs, inputs)).astype("f4"), rng.normal(size=outputs).astype("f4")
    layer = Linear(load_kernel(variant), weight, bias)
    for rows in range(34):
        x = np.zeros((rows, layer.inputs), np.float32)
        x[:, :inputs] = rng.normal(size=(rows, inputs))
        y = layer(x)
        assert np.allclose(y[:, :outputs], x[:, :inputs] @ weight.T + bias, atol=1e-4)
        assert (y[:, outputs:] == 0.0).all()


@pytest.mark.parametrize("variant", variants())
def test_a_row_does_not_depend_on_the_rows_beside_it(variant: str) -> None:
    rng = np.random.default_rng(1)
    engine = NativePolicyEngine(random_checkpoint("policy", width=64), variant)
    prompts = [random_prompt(rng, length) for length in (21, 40)]
    plan = rng.integers(0, VOCABULARY.size, 39, np.int32)

    def last_row(count: int) -> bytes:
        session = engine.open(prompts, [count - 1, count], len(plan))
        for token in plan:
            others = rng.integers(0, VOCABULARY.size, 2 * count - 1, np.int32)
            others[-1] = token
            session.feed(others)
        return bytes(session.probabilities()[-1].tobytes())

    assert {last_row(count) for count in range(1, 14)} == {last_row(1)}


def test_a_state_does_not_depend_on_the_states_beside_it() -> None:
    rng = np.random.default_rng(2)
    engine = NativeHeuristicEngine(random_checkpoint("heuristic", width=64))
    prompts = [random_prompt(rng, length) for length in range(1, 34)]
    together = engine.distributions(prompts)
    for prompt, row in zip(prompts, together, strict=True):
        assert np.array_equal(engine.distributions([prompt])[0], row)


def test_threads_may_share_a_model() -> None:
    rng = np.random.default_rng(3)
    engine = NativeHeuristicEngine(random_checkpoint("heuristic", width=64))
    prompts = [random_prompt(rng, length) for length in range(1, 60)]
    expected = engine.distributions(prompts)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: engine.distributions(prompts), range(16)):
            assert np.array_equal(result, expected)


def test_a_missing_library_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(binding, "LIBRARY", tmp_path / "libkernel.so")
    load_kernel.cache_clear()
    with pytest.raises(InputError, match="compiled engine cannot be loaded"):
        load_kernel()
    monkeypatch.undo()
    load_kernel.cache_clear()


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("gcc") is None, reason="needs gcc's sanitizers")
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    """The networks of `sanitized.py`, in a process of its own, on a kernel compiled to watch every access."""
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    if not Path(runtime.stdout.strip()).is_absolute():
        pytest.skip("gcc comes without its sanitizers")
    library = tmp_path / "libkernel.so"
    folder = Path(binding.__file__).parent
    sources = [str(folder / f"{name}.c") for name in ("kernel", "relational", "relational_decoder")]
    flags = ["-std=gnu11", "-O1", "-g", "-fPIC", "-shared", "-Wno-psabi", "-fsanitize=address,undefined"]
    flags += ["-fno-sanitize-recover=undefined"]
    variant = variants()[0]
    options = ["-mavx2", "-mfma"] if variant == "fast" else []
    command = ["gcc", *flags, *options, f"-DVARIANT={variant}", *sources, "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    environment = os.environ | {"LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    script = Path(__file__).with_name("sanitized.py")
    command = [sys.executable, str(script), str(library), variant]
    done = subprocess.run(command, env=environment, cwd=script.parents[3], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
