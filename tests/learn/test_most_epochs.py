from dataclasses import replace
from pathlib import Path

import pytest

from oclgen.domains import catalog
from oclgen.learn import trainer
from oclgen.learn.settings import TrainingSettings
from oclgen.learn.train import train
from oclgen.pipeline.sizes import training_settings
from tests.data.toy_data import make_dataset


def small(data: Path) -> TrainingSettings:
    settings = training_settings(data, catalog.load("blocksworld").domain_text, 3600.0, 0)
    model = replace(settings.model, layers=1, decoder_layers=1, width=16, heads=2, inner=16, relation=8)
    return replace(settings, model=model, schedule=replace(settings.schedule, warmup=1, most_epochs=5.0))


def test_the_decay_begins_when_the_validation_loss_has_long_stopped_falling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = small(make_dataset(tmp_path / "data", 12, blocks="3"))
    losses = iter([3.0, 2.0, *[5.0] * 100])
    monkeypatch.setattr(trainer, "averages", lambda *_: {"loss": next(losses)})
    schedule = replace(asked.schedule, most_epochs=0.0, stale=0.5)
    run = replace(asked.run, validate_every=2, log_every=1000)
    outcome = train(replace(asked, schedule=schedule, run=run), tmp_path / "run")
    # The least loss is that of step 4; ten validations are made by step 20, and 20 steps are 0.6 of the run.
    assert (outcome.reason, outcome.step) == ("finished", 34)


def test_a_run_of_a_given_time_ends_sooner_where_plans_are_few(tmp_path: Path) -> None:
    outcome = train(small(make_dataset(tmp_path / "data", 12, blocks="3")), tmp_path / "run")
    assert (outcome.reason, outcome.step) == ("finished", 5)
