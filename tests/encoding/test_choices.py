"""Choices are what is left of an action when everything that follows by itself is left out."""

from hypothesis import given
from hypothesis import strategies as st

from oclgen.encoding.choices import chosen, trie

token = st.integers(0, 3)
same_length = st.integers(1, 5).flatmap(
    lambda length: st.sets(st.tuples(*[token] * length), min_size=1, max_size=30).map(sorted)
)


@given(same_length)
def test_choices_and_the_trie_give_the_sequence_back(sequences: list[tuple[int, ...]]) -> None:
    root = trie(sequences)
    for sequence in sequences:
        kept, choices, read = chosen(sequence, root), root, []
        while choices:
            read.append(kept.pop(0) if len(choices) > 1 else next(iter(choices)))
            choices = choices[read[-1]]
        assert tuple(read) == sequence and kept == []


@given(same_length)
def test_sequences_differ_in_their_choices(sequences: list[tuple[int, ...]]) -> None:
    root = trie(sequences)
    kept = [tuple(chosen(sequence, root)) for sequence in sequences]
    assert len(set(kept)) == len(sequences)
    assert all(kept) or len(sequences) == 1


def test_tokens_without_an_alternative_are_left_out() -> None:
    root = trie([(1, 5, 7), (1, 6, 7), (2, 5, 8)])
    assert chosen((1, 5, 7), root) == [1, 5]
    assert chosen((2, 5, 8), root) == [2]
