import pytest

from oclgen.support.progress import duration


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0s"), (59.4, "59s"), (59.6, "1m 00s"), (425, "7m 05s"), (12000, "3h 20m")]
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
