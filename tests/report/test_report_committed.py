"""The committed results are what `oclgen report` makes of the committed records."""

from pathlib import Path

import pytest

from oclgen.report import build as report
from oclgen.report.documents import as_markdown
from oclgen.report.render import as_csv

RESULTS = Path(__file__).parents[2] / "docs" / "results"
FOLDERS = sorted(path.parent for path in RESULTS.glob("*/records.jsonl"))


def test_there_are_committed_records() -> None:
    assert FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_committed_tables_and_figures_are_those_of_the_records(folder: Path) -> None:
    made = report.make(report.read([folder]))
    assert (folder / "report.md").read_text(encoding="utf-8") == as_markdown(made)
    tables = {table.key: as_csv(table) for table in made.tables()}
    assert {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("tables/*.csv")} == tables
    assert {path.stem for path in folder.glob("figures/*.png")} == {picture.key for picture in made.pictures()}
