"""``--admission-control-config-file``: a file, a section of a cluster's configuration, and the last run's."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.api.core_v1 import Pod
from podling.cli.common_options import Failure
from podling.cli.options.admission_options import chosen_admission_options
from podling.cluster.admission_settings import admission_configuration
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.served_api import plugins_of
from podling.cluster.start_failure import StartFailure
from podling.machinery.errors import ApiError
from podling.testing import memory_cluster
from tests.support.manifests import PLAIN_POD, obj

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
GROUP = "pod-security.admission.config.k8s.io/v1"


def plugins(level: str) -> str:
    defaults = f'"defaults": {{"enforce": "{level}"}}'
    own = f'{{"apiVersion": "{GROUP}", "kind": "PodSecurityConfiguration", {defaults}}}'
    return f'"plugins": [{{"name": "PodSecurity", "configuration": {own}}}]\n'


LAST = ClusterSettings(admission_document=f"{{{plugins('baseline')}}}")


def chosen(
    file: str | None = None, document: str | None = None, last: ClusterSettings = LAST
) -> ClusterSettings:
    given = {"admission_control_config_file": file, "admission_document": document}
    return ClusterSettings(**chosen_admission_options(given, last))


def enforced(settings: ClusterSettings) -> str:
    return admission_configuration(settings).pod_security.defaults.enforce


def test_without_option_the_last_configuration_holds() -> None:
    assert enforced(chosen()) == "baseline"
    assert enforced(chosen(last=ClusterSettings())) == "privileged"


def test_file_takes_the_place_of_a_section(tmp_path: Path) -> None:
    file = tmp_path / "admission.yaml"
    file.write_text(HEAD + plugins("restricted"))
    by_file = chosen(str(file))
    assert (by_file.admission_control_config_file, enforced(by_file)) == (str(file), "restricted")
    assert enforced(chosen(document=f"{{{plugins('baseline')}}}", last=by_file)) == "baseline"
    assert enforced(chosen("", last=by_file)) == "privileged"


def test_configuration_that_cannot_be_used_is_refused_before_and_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "admission.yaml"
    file.write_text(HEAD + plugins("strict"))
    why = "PodSecurity invalid: defaults.enforce: Invalid value"
    with pytest.raises(Failure, match=why):
        chosen(str(file))
    with pytest.raises(StartFailure, match=why):
        plugins_of(ClusterSettings(admission_control_config_file=str(file)))


@pytest.mark.parametrize("api_only", [False, True])
async def test_plugins_of_a_cluster_have_its_configuration(api_only: bool) -> None:
    settings = ClusterSettings(admission_document=f"{{{plugins('baseline')}}}", api_only=api_only)
    by_name = {plugin.name: plugin for plugin in plugins_of(settings)}
    async with memory_cluster([by_name["PodSecurity"]]) as cluster:
        with pytest.raises(ApiError, match="violates PodSecurity"):
            await cluster.client.create(obj(Pod, "spec: {hostPID: true}", PLAIN_POD))
