"""Solved problems as compact arrays, from which the state after any number of steps is one comparison away.

Every atom of a problem is kept once for each stretch of the plan during which it is true, as
[start, stop) in steps; goal atoms are "true" throughout. The state at step t is then all rows with
start <= t < stop: no replay, no sets, and many examples at once in numpy.

The arrays are computed once, in several processes, and kept beside the data set.
Paper: Section 4.5 (action compilation needs the intermediate states of each plan).
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain, count, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oclgen.data.dataset import Dataset, Row
from oclgen.data.dataset import parts as dataset_parts
from oclgen.encoding import Binding, Goal, Vocabulary, load
from oclgen.encoding.choices import PLANS, chosen, trie
from oclgen.encoding.prompts import GOAL_FALSE, STATE
from oclgen.encoding.vocabulary import END
from oclgen.errors import InputError, UnsupportedError
from oclgen.interfaces import Action, Atom, State
from oclgen.pddl.plan_file import parse_plan
from oclgen.pddl.task import PddlTask
from oclgen.pddl.validate import BrokenStep, Validator
from oclgen.support.parallel import run_unordered

FORMAT = 1
ALWAYS = np.iinfo(np.int16).max
JOB_ROWS = 64
Ints = NDArray[np.int16] | NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True)
class Store:
    """The examples of one split. Instance i owns rows `row_begin[i]:row_begin[i + 1]`, and so on."""

    ids: NDArray[np.int64]
    row_begin: NDArray[np.int64]
    rows: NDArray[np.int16]  # [all rows, 2 + slots], as in the atoms encoding
    start: NDArray[np.int16]
    stop: NDArray[np.int16]
    step_begin: NDArray[np.int64]  # instance i has its length + 1 steps: before each action, and the end
    step_token: NDArray[np.int32]  # where the step's action begins among the tokens of its plan
    step_atoms: NDArray[np.int32]  # length of the step's prompt in the atoms encoding
    step_words: NDArray[np.int32]  # and in the words encoding
    plan_begin: NDArray[np.int64]
    plan: NDArray[np.int16]  # tokens, each plan with its `<end>`
    refused: int = 0  # solved problems that the vocabulary cannot express

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def length(self) -> NDArray[np.int64]:
        """Number of actions of each plan."""
        return np.diff(self.step_begin) - 1

    @property
    def next_choice(self) -> NDArray[np.int64]:
        """For every step the first one from it on whose action has tokens, or else the plan's last."""
        last = np.zeros(len(self.step_token), bool)
        last[self.step_begin[1:] - 1] = True
        last[np.maximum(self.step_begin[1:] - 2, self.step_begin[:-1])] = True
        steps = np.arange(len(last))
        more = np.append(self.step_token[1:] > self.step_token[:-1], False)
        found = np.where(more | last, steps, len(steps))
        following: NDArray[np.int64] = np.minimum.accumulate(found[::-1])[::-1]
        return following

    def step_prompt(self, encoding: str) -> NDArray[np.int32]:
        """Length of the prompt at every step of every plan."""
        return self.step_words if encoding == "words" else self.step_atoms


ARRAYS = tuple(field.name for field in fields(Store) if field.name != "refused")
OFFSETS = ("row_begin", "step_begin", "plan_begin")


def encode_instance(
    vocabulary: Vocabulary,
    number: int,
    objects: Mapping[str, str],
    goal: Goal,
    states: Sequence[frozenset[Atom]],
    static_atoms: Iterable[Atom],
    plan: Sequence[Action],
    applicable: Sequence[Sequence[Action]] | None = None,
) -> Store:
    """A store of one problem; `states` holds the atoms before each action and at the end, static or not. Where the
    applicable actions before each step are given, only choices among them are kept of the plan's tokens."""
    if max(len(plan), vocabulary.size) >= ALWAYS:
        raise UnsupportedError(f"examples hold fewer than {ALWAYS} actions and fewer than {ALWAYS} tokens")
    binding = Binding(vocabulary, objects)
    encoding = load("atoms", vocabulary)
    spans = sorted(span for span in _spans(states, static_atoms) if span[0][0] not in vocabulary.left_out)
    state_rows = encoding.array(b"".join(encoding.row(atom, STATE, binding) for atom, _, _ in spans))
    rows = np.concatenate([state_rows, encoding.prompt((), goal, binding)])
    always = len(rows) - len(spans)
    start = np.array([begin for _, begin, _ in spans] + [0] * always, np.int16)
    stop = np.array([end for _, _, end in spans] + [ALWAYS] * always, np.int16)
    arity = np.array([symbol.arity for symbol in vocabulary.predicates])
    words = 1 + arity[rows[:, 0]] + (rows[:, 1] == GOAL_FALSE)
    steps = [encoding.action(action, binding) for action in plan]
    if applicable is not None:
        tries = (trie([encoding.action(action, binding) for action in actions]) for actions in applicable)
        steps = [chosen(step, choices) for step, choices in zip(steps, tries, strict=True)]
    tokens = np.array([*chain.from_iterable(steps), END], np.int16)
    step_token = np.cumsum([0, *map(len, steps)])
    return Store(
        ids=np.array([number]),
        row_begin=np.array([0, len(rows)]),
        rows=rows.astype(np.int16),
        start=start,
        stop=stop,
        step_begin=np.array([0, len(states)]),
        step_token=step_token.astype(np.int32),
        step_atoms=_sums(start, stop, np.ones_like(words), len(states)),
        step_words=_sums(start, stop, words, len(states)) + np.int32(2),
        plan_begin=np.array([0, len(tokens)]),
        plan=tokens,
    )


def _spans(states: Sequence[frozenset[Atom]], static_atoms: Iterable[Atom]) -> Iterator[tuple[Atom, int, int]]:
    """Each atom with each stretch of steps in which it holds."""
    since: dict[Atom, int] = dict.fromkeys(static_atoms, 0)
    before: frozenset[Atom] = frozenset()
    for step, state in enumerate(states):
        for atom in before - state:
            yield atom, since.pop(atom), step
        since.update((atom, step) for atom in state - before)
        before = state
    for atom, begin in since.items():
        yield atom, begin, ALWAYS


def _sums(start: NDArray[np.int16], stop: NDArray[np.int16], weight: Ints, steps: int) -> NDArray[np.int32]:
    """For each step the summed weight of the rows true in it."""
    change = np.zeros(steps + 1, np.int64)
    np.add.at(change, start, weight)
    np.add.at(change, np.minimum(stop, steps), -weight)
    return np.cumsum(change[:-1]).astype(np.int32)


def join(stores: Sequence[Store]) -> Store:
    """One store with the instances of all, in order."""
    joined = {name: np.concatenate([getattr(store, name) for store in stores]) for name in ARRAYS}
    for name in OFFSETS:
        sizes = np.concatenate([np.diff(getattr(store, name)) for store in stores])
        joined[name] = np.concatenate([[0], np.cumsum(sizes)])
    return Store(**joined, refused=sum(store.refused for store in stores))


def open_store(dataset: Dataset, split: str, vocabulary: Vocabulary, workers: int = 1, plans: str = PLANS[0]) -> Store:
    """The store of a split, read from beside the data set if it was made before and the data is still the same."""
    folder = dataset.path / "examples" / f"{split}-{_key(dataset, vocabulary, plans)}"
    if not folder.is_dir():
        _save(build_store(dataset, split, vocabulary, workers, plans), folder)
    try:
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
        return Store(**arrays, refused=json.loads((folder / "refused.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: broken ({error}); delete this folder, it will be made again") from error


def build_store(dataset: Dataset, split: str, vocabulary: Vocabulary, workers: int = 1, plans: str = PLANS[0]) -> Store:
    """The store of a split, in the data set's order. A broken plan stops it; a refused problem is counted."""
    encode = partial(_encode_rows, dataset.domain_text, vocabulary, plans)
    solved = (row for row in dataset.rows(split) if row.length >= 0)
    done = sorted(run_unordered(encode, _chunks(solved), workers), key=lambda result: result[0])
    stores = [store for _, chunk, _ in done for store in chunk]
    refused = sum(count for _, _, count in done)
    if not stores:
        raise InputError(f"{dataset.path}: no example in split '{split}' ({refused} problems beyond the vocabulary)")
    return replace(join(stores), refused=refused)


def _chunks(rows: Iterator[Row]) -> Iterator[tuple[int, list[Row]]]:
    for number in count():
        chunk = list(islice(rows, JOB_ROWS))
        if not chunk:
            return
        yield number, chunk


def _encode_rows(
    domain: str, vocabulary: Vocabulary, plans: str, job: tuple[int, list[Row]]
) -> tuple[int, list[Store], int]:
    """The job's number, its examples joined to at most one store, and how many problems were refused."""
    number, rows = job
    stores = []
    for row in rows:
        try:
            stores.append(_encode_row(domain, vocabulary, plans, row))
        except UnsupportedError:
            continue
    return number, [join(stores)] if stores else [], len(rows) - len(stores)


def _encode_row(domain: str, vocabulary: Vocabulary, plans: str, row: Row) -> Store:
    validator = Validator(domain, row.problem)
    info = validator.info
    plan = parse_plan(row.plan, row.name)
    static_atoms = frozenset(atom for atom in info.init if atom[0] in info.domain.static_predicates)
    try:
        states = validator.states(plan)
    except BrokenStep as broken:
        raise InputError(f"data set row {row.id} ({row.name}): its plan does not work: {broken}") from broken
    wanted, unwanted = info.goal
    end = states[-1] | static_atoms
    if not wanted <= end or unwanted & end:
        raise InputError(f"data set row {row.id} ({row.name}): its plan does not reach the goal")
    applicable = _applicable(PddlTask(domain, row.problem), plan) if plans == "choices" else None
    return encode_instance(vocabulary, row.id, info.objects, info.goal, states, static_atoms, plan, applicable)


def _applicable(task: PddlTask, plan: Sequence[Action]) -> list[Sequence[Action]]:
    """What could be done before each step of a plan that works."""
    found: list[Sequence[Action]] = []
    state: State | None = task.initial_state
    for action in plan:
        found.append(task.applicable(state))
        state = task.apply(state, action)
    return found


def _key(dataset: Dataset, vocabulary: Vocabulary, plans: str) -> str:
    """Names what a store was made from: the data set's parts, which never change, the vocabulary, and what is kept."""
    parts = [(part.name, part.stat().st_size) for part in dataset_parts(dataset.path)]
    text = json.dumps([FORMAT, parts, dataset.domain_text, vocabulary.to_json(), plans])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _save(store: Store, folder: Path) -> None:
    """Appears by rename, so that a folder with this name is complete; another process may have been faster."""
    try:
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as made:
            whole = Path(made) / "store"
            whole.mkdir()
            for name in ARRAYS:
                np.save(whole / f"{name}.npy", getattr(store, name))
            (whole / "refused.json").write_text(json.dumps(store.refused), encoding="utf-8")
            if not folder.is_dir():
                whole.rename(folder)
    except OSError as error:
        raise InputError(f"{folder.parent}: {error.strerror or error}") from error
