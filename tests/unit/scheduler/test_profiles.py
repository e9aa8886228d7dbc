"""Profiles: which plugins a configuration enables at which extension point, in which order and weight."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from msgspec import Struct

from podling.scheduler.configuration.files import configuration_of
from podling.scheduler.configuration.types import API_VERSION, KIND
from podling.scheduler.framework import Plugin, Rejected
from podling.scheduler.plugin_registry import GROUP, PluginRefused, Registry
from podling.scheduler.profile import Profile, Scorer
from podling.scheduler.profiles import make_profiles
from tests.unit.scheduler.scheduling import DEFAULT_PROFILE


class PickyArgs(Struct, frozen=True):
    limit: int = 1


class Picky(Plugin):
    name = "Picky"
    arguments = PickyArgs

    def filter(self, *_: Any) -> Sequence[Rejected]:
        return ()

    def score(self, *_: Any) -> None:
        return None


INSTALLED = (EntryPoint("Picky", f"{__name__}:Picky", GROUP),)


def profiles(*given: dict[str, Any], **fields: Any) -> dict[str, Profile]:
    document = {"apiVersion": API_VERSION, "kind": KIND, "profiles": list(given), **fields}
    return make_profiles(configuration_of(document, "file"), Registry(INSTALLED))


def profile(config: Sequence[Any] = (), **points: Any) -> Profile:
    [made] = profiles({"plugins": points, "pluginConfig": list(config)}).values()
    return made


def enabled(*names: str, **weights: int) -> dict[str, Any]:
    weighted = [{"name": name, "weight": weight} for name, weight in weights.items()]
    return {"enabled": [{"name": name} for name in names] + weighted}


def disabled(*names: str) -> dict[str, Any]:
    return {"disabled": [{"name": name} for name in names]}


def names(plugins: Sequence[Plugin | Scorer]) -> list[str]:
    return [each.plugin.name if isinstance(each, Scorer) else each.name for each in plugins]


def weights(made: Profile) -> dict[str, int]:
    return {each.plugin.name: each.weight for each in made.score}


FILTERS = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
]
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}


def test_default_profile_is_that_of_kubernetes() -> None:
    assert names(DEFAULT_PROFILE.filter) == FILTERS
    assert weights(DEFAULT_PROFILE) == WEIGHTS
    assert names(DEFAULT_PROFILE.pre_enqueue) == ["SchedulingGates"]
    assert names(DEFAULT_PROFILE.queue_sort) == ["PrioritySort"]
    assert names(DEFAULT_PROFILE.post_filter) == ["DefaultPreemption"]
    assert names(DEFAULT_PROFILE.bind) == ["DefaultBinder"]


def test_star_disables_an_extension_point() -> None:
    assert profile(filter=disabled("*")).filter == ()
    assert weights(profile(score=disabled("*"))) == {}
    assert weights(profile(filter=disabled("*"))) == WEIGHTS


def test_disabled_plugin_is_left_out_at_its_point_only() -> None:
    made = profile(score=disabled("NodeResourcesFit"))
    assert "NodeResourcesFit" not in weights(made)
    assert "NodeResourcesFit" in names(made.filter)


def test_multi_point_disables_a_plugin_everywhere() -> None:
    made = profile(multiPoint=disabled("NodeResourcesFit"))
    assert "NodeResourcesFit" not in weights(made)
    assert "NodeResourcesFit" not in names(made.filter)


def test_own_plugin_runs_behind_the_default_ones() -> None:
    made = profile(multiPoint=enabled("Picky"))
    assert names(made.filter) == [*FILTERS, "Picky"]
    assert weights(made) == {**WEIGHTS, "Picky": 1}
    assert names(profile(filter=enabled("Picky")).filter) == [*FILTERS, "Picky"]


def test_default_plugins_named_at_their_point_run_first_in_that_order() -> None:
    made = profile(filter=enabled("Picky", "NodePorts", "NodeName"))
    others = [name for name in FILTERS if name not in ("NodePorts", "NodeName")]
    assert names(made.filter) == ["NodePorts", "NodeName", *others, "Picky"]


def test_only_what_is_enabled_remains_where_all_is_disabled() -> None:
    made = profile(filter={**enabled("NodePorts", "NodeName"), **disabled("*")})
    assert names(made.filter) == ["NodePorts", "NodeName"]


def test_weight_of_the_point_comes_before_that_of_multi_point() -> None:
    assert weights(profile(score=enabled(NodeAffinity=7)))["NodeAffinity"] == 7
    assert weights(profile(multiPoint=enabled(NodeAffinity=7)))["NodeAffinity"] == 7
    made = profile(multiPoint=enabled(Picky=5), score=enabled(Picky=4))
    assert weights(made)["Picky"] == 4


def test_weight_of_zero_is_one() -> None:
    assert weights(profile(score=enabled(NodeAffinity=0)))["NodeAffinity"] == 1


def test_plugin_is_made_once_with_its_arguments() -> None:
    made = profile([{"name": "Picky", "args": {"limit": 3}}], multiPoint=enabled("Picky"))
    assert made.filter[-1] is made.score[-1].plugin is made.by_name["Picky"]
    assert made.by_name["Picky"].args == PickyArgs(3)


@pytest.mark.parametrize(
    ("points", "text"),
    [
        ({"filter": enabled("Unknown")}, 'FilterPlugin "Unknown" does not exist'),
        ({"multiPoint": enabled("Unknown")}, 'MultiPoint "Unknown" does not exist'),
        ({"bind": enabled("Picky")}, 'plugin "Picky" does not extend BindPlugin plugin'),
        ({"permit": enabled("Picky")}, 'plugin "Picky" does not extend PermitPlugin plugin'),
        ({"filter": enabled("Picky", "Picky")}, 'plugin "Picky" already registered as "FilterPlugin"'),
        ({"multiPoint": enabled("Picky", "Picky")}, 'plugin "Picky" already registered as "FilterPlugin"'),
        (
            {"queueSort": disabled("*")},
            'only one queue sort plugin required for profile with scheduler name "default-scheduler", but '
            "got 0",
        ),
        (
            {"bind": disabled("*")},
            'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
        ),
        (
            {"filter": enabled("DynamicResources")},
            'FilterPlugin "DynamicResources" is not supported: no node here has what it decides about',
        ),
    ],
)
def test_profile_that_cannot_be_made_is_refused(points: dict[str, Any], text: str) -> None:
    with pytest.raises(PluginRefused) as refused:
        profile(**points)
    assert str(refused.value) == text


def test_arguments_of_a_plugin_are_decoded_strictly() -> None:
    with pytest.raises(PluginRefused) as refused:
        profile([{"name": "Picky", "args": {"limt": 3}}], multiPoint=enabled("Picky"))
    text = 'decoding args for plugin Picky: strict decoding error: unknown field "limt"'
    assert str(refused.value) == text


def test_profiles_have_their_own_percentage_or_the_common_one() -> None:
    one, other = {"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 70}
    made = profiles(one, other, percentageOfNodesToScore=30)
    assert {name: each.percentage for name, each in made.items()} == {"a": 30, "b": 70}
