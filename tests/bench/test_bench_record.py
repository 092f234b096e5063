"""Records as values."""

from oclgen.bench.record import length_at


def test_length_at_a_second_is_the_best_known_by_then() -> None:
    trace = [(0.5, 40), (2.0, 30)]
    assert [length_at(trace, second) for second in (0.4, 0.5, 1.9, 2.0, 9.0)] == [None, 40, 40, 30, 30]
