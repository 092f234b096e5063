"""Run as a program: read many plans as training does and print the most memory that no file backs, in KB.

    python -m tests.data.store_memory KIND FOLDER REPETITIONS

FOLDER holds a small data set; its store is repeated so many times in a folder of its own, one copy at a time.
"""

import sys
from itertools import islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory

from oclgen.data.dataset import open_dataset
from oclgen.data.examples import batches
from oclgen.data.examples.arrays import load_arrays, save_arrays
from oclgen.data.examples.batches import BatchStream, Position
from oclgen.data.examples.relational import RelationalBatchSettings, RelationalExamples
from oclgen.data.examples.relational_store import RelationalStore, open_relational_store
from oclgen.data.examples.words import WordsBatchSettings, WordsExamples
from oclgen.data.examples.words_store import WordsStore, open_store
from oclgen.domains import catalog
from oclgen.encoding import build_vocabulary
from oclgen.encoding.relational import schema_of
from oclgen.pddl.reading.domain import read_domain

PLANS_PER_EPOCH = 4096
BATCHES = 20


def own_kilobytes() -> int:
    """Memory of this process that no file backs."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def words(folder: Path, scratch: Path, repetitions: int) -> BatchStream:
    spec, data = catalog.load("blocksworld"), open_dataset(folder)
    vocabulary = build_vocabulary(read_domain(data.domain_text), spec.defaults.encoding.as_table())
    save_arrays(repeat(open_store(data, "train", vocabulary), repetitions), scratch / "store")
    store = load_arrays(WordsStore, scratch / "store")
    assert store.longest_plan(0) > 0
    return WordsExamples(store, vocabulary, WordsBatchSettings("policy", tokens=4000))


def relational(folder: Path, scratch: Path, repetitions: int) -> BatchStream:
    data = open_dataset(folder)
    schema = schema_of(read_domain(data.domain_text))
    save_arrays(repeat(open_relational_store(data, "train"), repetitions), scratch / "store")
    store = load_arrays(RelationalStore, scratch / "store")
    limits = RelationalBatchSettings(tokens=4000, window=6)
    return RelationalExamples(store, schema, store.relations(schema), limits, False)


def main(kind: str, folder: Path, repetitions: int) -> None:
    batches.SEGMENT = PLANS_PER_EPOCH
    with TemporaryDirectory() as scratch:
        stream = {"words": words, "relational": relational}[kind](folder, Path(scratch), repetitions)
        most = own_kilobytes()
        for epoch in range(3):
            for _ in islice(stream.stream(Position(epoch), 1, 2), BATCHES):
                most = max(most, own_kilobytes())
    print(most)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
