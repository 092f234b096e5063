"""Which settings a search and its models have: the paper's, the profile's, the model's own, and the user's."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_type_hints

from oclgen.errors import InputError
from oclgen.loaded_model import LoadedModel, ModelUse
from oclgen.search import METHODS, Method
from oclgen.search.settings import PROFILES, OclgenSettings, Settings
from oclgen.support.settings import check_values


def choose_settings(
    method: Method, of_paper: Mapping[str, Any], profile: str, model: LoadedModel, overrides: Mapping[str, Any]
) -> tuple[Settings, ModelUse]:
    """`of_paper` is the paper's table for OCLGen in a domain; a model's own settings are not the paper's."""
    ours = {} if profile == "paper" else PROFILES[profile] | own_settings(model)
    return resolve(method, of_paper, ours, overrides)


def own_settings(model: LoadedModel) -> dict[str, Any]:
    """The settings that a model brings along, of any method."""
    own = model.solve_settings
    known = set(get_type_hints(ModelUse)).union(*(get_type_hints(type(each.settings)) for each in METHODS.values()))
    unknown = sorted(set(own) - known)
    if unknown:
        raise InputError(f"{model.folder / 'solve.toml'}: unknown setting {unknown[0]!r}")
    return own


def resolve(
    method: Method, of_paper: Mapping[str, Any], ours: Mapping[str, Any], overrides: Mapping[str, Any]
) -> tuple[Settings, ModelUse]:
    """Settings of a method and of its models.

    `of_paper` is the paper's table for OCLGen in a domain; the other methods take only what it says about the models.
    `ours`, from the profile and the model, is for every method that has such a setting. `overrides` are the user's:
    one that the method does not have is an error.
    """
    use_keys = set(get_type_hints(ModelUse))
    known = use_keys | set(get_type_hints(type(method.settings))) - method.fixed
    unknown = sorted(set(overrides) - known)
    if unknown:
        raise InputError(f"unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}")
    if not isinstance(method.settings, OclgenSettings):
        of_paper = {key: value for key, value in of_paper.items() if key in use_keys}
    merged = {key: value for key, value in {**of_paper, **ours, **overrides}.items() if key in known}
    return (
        replace(method.settings, **check_values(type(method.settings), merged)),
        replace(ModelUse(), **check_values(ModelUse, merged)),
    )
