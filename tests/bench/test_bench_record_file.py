"""The journal survives whatever a kill leaves behind, and refuses what no kill can have done."""

import json
from pathlib import Path

import pytest

from oclgen.bench.record import RunRecord
from oclgen.bench.record_file import RecordFile, read_records
from oclgen.errors import InputError
from tests.bench.records import run, write_records


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    with RecordFile(tmp_path) as journal:
        journal.append(run("lama", "p1", [(1.5, 20), (2.5, 18)]))
    [record] = read_records(tmp_path)
    assert isinstance(record, RunRecord)
    assert (record.label, record.length, record.trace) == ("lama", 18, ((1.5, 20), (2.5, 18)))
    assert (record.first_seconds, record.length_at(2.0)) == (1.5, 20)


@pytest.mark.parametrize("torn", ['{"id": "half', '{"id": "whole"}', "\x00\x00\x00", '{"id": "ä'])
def test_a_torn_last_line_is_dropped_and_written_over(tmp_path: Path, torn: str) -> None:
    write_records(tmp_path, [run("lama", "p1", None)])
    path = tmp_path / "records.jsonl"
    path.write_bytes(path.read_bytes() + torn.encode()[:-1])
    assert len(list(read_records(tmp_path))) == 1
    with RecordFile(tmp_path) as journal:
        assert len(journal.ids) == 1
        journal.append(run("lama", "p2", None))
    assert [json.loads(line)["problem"] for line in path.read_text().splitlines()] == ["p1", "p2"]


def test_a_journal_that_is_one_torn_line_starts_anew(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text('{"id": ' + "x" * 200_000)
    with RecordFile(tmp_path) as journal:
        assert journal.ids == set()
    assert (tmp_path / "records.jsonl").read_text() == ""


def test_a_folder_takes_one_benchmark_at_a_time(tmp_path: Path) -> None:
    with RecordFile(tmp_path), pytest.raises(InputError, match="another benchmark is running"):
        RecordFile(tmp_path)
    with RecordFile(tmp_path) as journal:
        assert journal.ids == set()


def test_damage_in_the_middle_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text('{"id": "a"}\nnonsense\n{"id": "b"}\n')
    with pytest.raises(InputError, match=r"records\.jsonl:2"):
        RecordFile(tmp_path)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"id": "a", "kind": "song"}, "unknown kind"),
        ({"id": "a", "kind": "run", "label": "lama"}, "incomplete"),
        (run("lama", "p", None, outcome="perhaps"), "unknown outcome"),
    ],
)
def test_a_line_that_is_no_record_is_refused(tmp_path: Path, line: dict[str, object], complaint: str) -> None:
    write_records(tmp_path, [line])
    with pytest.raises(InputError, match=complaint):
        list(read_records(tmp_path))


def test_a_folder_without_records_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="oclgen bench"):
        list(read_records(tmp_path))
