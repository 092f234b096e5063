"""What docs/serve.md shows works as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import httpx

from tests.serve.serving import ended

DOCUMENT = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()


def test_the_example_submits_a_job_with_nothing_but_the_standard_library(client: httpx.Client, tmp_path: Path) -> None:
    [example] = re.findall(r"python - <<'X'\n(.*?)^X$", DOCUMENT, re.DOTALL | re.MULTILINE)
    (tmp_path / "domain.pddl").write_text("d")
    (tmp_path / "problem.pddl").write_text("plan 3")
    here = example.replace("http://127.0.0.1:5001", str(client.base_url).rstrip("/"))
    command = [sys.executable, "-I", "-S", "-c", here]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended(client, done.stdout.strip())["status"] == "solved"
