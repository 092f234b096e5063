"""The report: every table and picture, warnings first, missing ones by name, and a page that a browser shows."""

import json
import os
import re
import shutil
import subprocess
import tomllib
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
import pytest

from oclgen.cli import run as run_cli
from oclgen.report import build as report
from oclgen.report import documents
from oclgen.report.evaluation import Evaluation
from oclgen.report.figures import Picture, quality_picture
from tests.bench.records import broken, optimum, records, run, whole_evaluation, write_records

TABLES = {
    "main_results", "ratio_to_lama", "commonly_solved", "statistical_comparison", "ipc_scores", "results_optimal",
    "results_subset", "generalisation", "ablations", "results_saw_vs_act",
    "number_of_rollout_time_limit_best_of_N", "improvement_loop",
    "improvement_final", "statistical_comparison_iter3", "mae_comparison", "mae_me_comparison", "taskwise",
    "ratio_by_size", "other_sets", "by_domain_easy", "by_domain_larger", "first_plans", "seeds", "ablations_paired",
    "effort",
}  # fmt: skip
PICTURES = {
    "length_over_time", "completion_over_time", "quality_over_time", "heuristic_errors", "cost_distributions",
    "training_curves", "improvement_over_loops",
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of everything there can be, from two folders of records."""
    folder = tmp_path_factory.mktemp("report")
    lines = whole_evaluation(problems=5)
    half = len(lines) // 2
    parts = write_records(folder / "one", lines[:half]), write_records(folder / "two", lines[half:])
    assert run_cli(["report", *map(str, parts), "--out", str(folder / "out")]) == 0
    return folder / "out"


def test_every_table_and_picture_is_written(written: Path) -> None:
    assert {path.stem for path in (written / "tables").iterdir()} == TABLES
    assert {path.name for path in (written / "figures").iterdir()} == {
        f"{key}.{kind}" for key in PICTURES for kind in ("png", "svg")
    }
    for path in (written / "figures").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    for path in (written / "figures").glob("*.svg"):
        assert xml.etree.ElementTree.parse(path).getroot().tag.endswith("svg")


def test_markdown_warns_first_and_links_to_what_exists(written: Path) -> None:
    text = (written / "report.md").read_text()
    warning = text.index("1 of 739 runs are broken")
    assert (
        warning < text.index("mcts-full (10 s, seed 0) on labyrinth/bad: invalid plan") < text.index("## Main results")
    )
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (written / target).is_file(), target
    assert "Not shown" not in text


def test_latex_is_a_whole_document_with_even_rows(written: Path) -> None:
    text = (written / "report.tex").read_text()
    assert text.startswith("\\documentclass") and text.rstrip().endswith("\\end{document}")
    for table in re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", text, re.S):
        rows = [line for line in table[1].splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert rows and all(len(re.findall(r"(?<!\\)&", row)) == len(table[0]) - 1 for row in rows)


def test_lab_properties_are_sorted_and_carry_labs_names(written: Path) -> None:
    text = (written / "properties").read_text()
    runs = json.loads(text)
    assert text == json.dumps(runs, indent=2, sort_keys=True) + "\n"
    assert len(runs) == 739
    good = next(values for values in runs.values() if values["algorithm"] == "lama-30s" and values["coverage"])
    assert good["cost"] == good["cost:all"][-1] and good["error"] == "success"
    assert {"algorithm", "domain", "problem", "id", "coverage", "planner_time", "memory", "expansions"} <= good.keys()
    bad = next(values for values in runs.values() if values["error"] == "unexplained-error")
    assert bad["coverage"] == 0 and "cost" not in bad and "invalid plan" in bad["unexplained_errors"][0]


def test_the_same_records_give_the_same_files(tmp_path: Path) -> None:
    lines = [line for line in whole_evaluation(problems=2) if line.get("domain") == "blocksworld"]
    made = Evaluation(records(*lines))
    for name in ("a", "b"):
        documents.write(report.make(made), made, tmp_path / name)
    files = [path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file()]
    assert files
    assert all((tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes() for file in files)


def test_few_records_give_a_short_report_that_says_what_is_missing(tmp_path: Path) -> None:
    folder = write_records(tmp_path / "records", [run("lama", "p1", None), run("gbfs", "p1", None)])
    assert run_cli(["report", str(folder)]) == 0
    text = (folder / "report" / "report.md").read_text()
    missing = text[text.index("## Not shown") :]
    for key in (
        "results_optimal",
        "results_subset",
        "ablations",
        "mae_comparison",
        "training_curves",
        "improvement_loop",
    ):
        assert f"(`{key}`): no " in missing
    assert "Attention" not in text


def test_no_runs_at_all_is_still_a_report(tmp_path: Path) -> None:
    folder = write_records(tmp_path / "records", [])
    assert run_cli(["report", str(folder)]) == 0
    assert "0 solved" in (folder / "report" / "report.md").read_text()


def test_warnings_name_contradictions_and_count_what_is_not_named() -> None:
    lines = [broken("gbfs", f"p{number:02}") for number in range(25)]
    made = report.make(Evaluation(records(*lines, run("lama", "p00", [(1, 3)]), optimum("p00", 4))))
    assert made.warnings[0].startswith("1 runs contradict others")
    assert "25 of 26 runs are broken" in made.warnings[2]
    assert made.warnings[-1] == "... and 5 more"


def test_disturbed_runs_are_counted_among_those_whose_records_say() -> None:
    lines = [
        run("lama", "p1", [(1, 3)], disturbed=True, lost_seconds=0.5, cores=1, load=1.2),
        run("lama", "p2", [(1, 3)], disturbed=True, lost_seconds=3.25),
        run("lama", "p3", [(1, 3)], disturbed=False, lost_seconds=0.1),
        run("lama", "p4", [(1, 3)]),
    ]
    [warning] = report.make(Evaluation(records(*lines))).warnings
    assert warning.startswith("2 of 3 runs lost more than 2 % of their time to other processes; the worst: lama")
    assert warning.endswith("blocksworld/p2, 3.2 s lost")
    assert report.make(Evaluation(records(lines[3]))).warnings == ()


def test_a_row_of_runs_with_different_weights_or_settings_is_told_of() -> None:
    kind = {"profile": "extended", "asked_settings": [], "model_digest": "a"}
    same = [run("gbfs", f"p{number}", [(1, 3)], **kind) for number in range(3)]
    assert report.make(Evaluation(records(*same, run("lama", "p0", [(1, 3)])))).warnings == ()
    for changed in ({"model_digest": "b"}, {"asked_settings": ["samples=3"]}, {"profile": "paper"}):
        other = run("gbfs", "p3", [(1, 3)], **{**kind, **changed})
        [warning] = report.make(Evaluation(records(*same, other))).warnings
        assert (
            warning == "gbfs (10 s) on the main problems of blocksworld mixes runs with different weights or settings"
        )


def test_quality_over_time_counts_unsolved_and_broken_runs_as_zero() -> None:
    lines = [
        run("gbfs", "p1", [(1, 20), (5, 10)]),
        run("gbfs", "p2", None),
        run("gbfs", "p3", [(0.5, 7)], outcome="broken"),
        run("gbfs", "p4", [(2, 40)]),
        optimum("p4", 20),
    ]
    picture = quality_picture(Evaluation(records(*lines)))
    assert isinstance(picture, Picture)
    [axes] = picture.figure.axes
    [line] = axes.lines
    seconds, quality = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    for second, expected in ((0.9, 0.0), (1.5, 0.5 / 4), (4.0, 1.0 / 4), (10.0, 1.5 / 4)):
        assert quality[seconds <= second][-1] == pytest.approx(expected)


def test_curves_are_of_the_problems_that_all_methods_have_finished() -> None:
    lines = [run("gbfs", "p1", [(1, 20)]), run("gbfs", "p2", None), run("astar", "p1", [(3, 15)])]
    picture = quality_picture(Evaluation(records(*lines)))
    assert isinstance(picture, Picture)
    [axes] = picture.figure.axes
    assert {str(line.get_label()): np.asarray(line.get_ydata())[-1] for line in axes.lines} == {
        "OCL-GBFS": pytest.approx(15 / 20),
        "OCL-Anytime A*": pytest.approx(1.0),
    }


def test_text_from_records_cannot_break_the_page(tmp_path: Path) -> None:
    made = Evaluation(records(broken("<script>alert(1)</script>", "p|*", "<b>oops</b>")))
    documents.write(report.make(made), made, tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "<script>" not in page and "<b>oops" not in page


PROBE = """<script>addEventListener("load", () => {
  const images = [...document.images], tables = [...document.querySelectorAll("table")];
  document.body.innerHTML = "<pre id=probe>" + JSON.stringify({
    tables: tables.map(table => table.rows.length), wide: document.documentElement.scrollWidth > innerWidth,
    images: images.map(image => image.naturalWidth), links: [...document.querySelectorAll("nav a")].every(
      link => document.getElementById(link.hash.slice(1))), sticky: getComputedStyle(tables[0].tHead).position,
    outside: [...document.querySelectorAll("img,script[src],link[href]")].filter(
      e => !(e.src || e.href).startsWith("data:")).length,
  }) + "</pre>"; });</script>"""


@pytest.mark.skipif(
    shutil.which("chromium") is None and not os.environ.get("CI"),
    reason="no chromium on PATH (Debian: apt-get install chromium)",
)
@pytest.mark.parametrize("width", [1400, 500])
def test_a_browser_shows_the_page_with_its_tables_and_pictures(written: Path, tmp_path: Path, width: int) -> None:
    page = tmp_path / "page.html"
    page.write_text((written / "index.html").read_text().replace("</body>", PROBE + "</body>"))
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += f" --disable-component-update --disable-sync --window-size={width},900 --virtual-time-budget=20000"
    command = ["chromium", *flags.split(), f"--user-data-dir={tmp_path / 'user'}", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120).stdout
    found = re.search(r'<pre id="probe">(.*?)</pre>', shown, re.S)
    assert found is not None, shown[-500:]
    probe = json.loads(found[1])
    assert len(probe["tables"]) == len(TABLES) and min(probe["tables"]) >= 2
    assert len(probe["images"]) == len(PICTURES) and min(probe["images"]) > 300
    assert (probe["wide"], probe["links"], probe["sticky"], probe["outside"]) == (False, True, "sticky", 0)


def test_the_figures_of_the_paper_and_the_page_are_in_the_package() -> None:
    root = Path(__file__).parents[2]
    globs = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["oclgen"]
    shipped = {path for pattern in globs for path in (root / "src" / "oclgen").glob(pattern)}
    folder = root / "src" / "oclgen" / "report"
    data = {path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert {path.name for path in data} == {"paper.toml", "page.html"}
    assert data <= shipped
