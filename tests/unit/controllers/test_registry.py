"""Controllers by name, and those left out without what they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.controllers.registry import NAMES, controller, controllers, names_with
from podling.controllers.volumes.volume_folders import NoFolders
from podling.machinery.feature_gates import NO_GATES


@pytest.mark.parametrize("name", NAMES)
def test_controller_carries_the_name_it_is_registered_under(name: str) -> None:
    assert controller(name).name == name


def test_controllers_without_certificate_folders_or_signer_are_left_out() -> None:
    number = len(names_with(NO_GATES))
    assert number - len(controllers()) == 4
    assert number - len(controllers(root_ca="PEM", folders=NoFolders(Path("volumes")))) == 1


def test_controller_with_a_feature_gate_exists_with_it_only() -> None:
    gated = "kube-apiserver-serving-clustertrustbundle-publisher-controller"
    assert set(NAMES) - set(names_with(NO_GATES)) == {gated}
    assert names_with({"ClusterTrustBundle": True}) == NAMES


def test_only_named_controllers_are_made() -> None:
    assert len(controllers(names=["job-controller", "cronjob-controller"])) == 2
    assert controllers(names=["directory-volume-provisioner"]) == []
