from dataclasses import replace
from pathlib import Path

from oclgen.domains import catalog
from oclgen.learn.settings import TrainingSettings
from oclgen.learn.train import train
from oclgen.pipeline.sizes import training_settings
from tests.data.toy_data import make_dataset


def small(data: Path) -> TrainingSettings:
    settings = training_settings(data, catalog.load("blocksworld").domain_text, 3600.0, 0)
    model = replace(settings.model, layers=1, decoder_layers=1, width=16, heads=2, inner=16, relation=8)
    return replace(settings, model=model, schedule=replace(settings.schedule, warmup=1, most_epochs=5.0))


def test_a_run_of_a_given_time_ends_sooner_where_plans_are_few(tmp_path: Path) -> None:
    outcome = train(small(make_dataset(tmp_path / "data", 12, blocks="3")), tmp_path / "run")
    assert (outcome.reason, outcome.step) == ("finished", 5)
