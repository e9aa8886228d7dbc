"""kubectl's changes to existing objects: edit, labels, set, manifests of many objects; and its refusals."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import Done, RealCluster, command
from tests.support.kubectl_space import IN, SPACE, WEB, field, web_in_a_space

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster(sim_cluster: RealCluster) -> Iterator[RealCluster]:
    with web_in_a_space(sim_cluster) as cluster:
        yield cluster


@pytest.fixture
def settings(cluster: RealCluster) -> Iterator[str]:
    """A config map of the test's own."""
    cluster.kubectl(*IN, "create", "configmap", "settings", "--from-literal=colour=red")
    yield "configmap/settings"
    cluster.kubectl(*IN, "delete", "configmap", "settings")


class TestEdit:
    def edit(self, cluster: RealCluster, script: str, *arguments: str) -> Done:
        environment = os.environ | {"KUBE_EDITOR": f"sed -i {script}"}
        return command(cluster.kubectl_command("edit", *IN, *arguments), environment=environment)

    def test_edit_as_yaml_and_as_json(self, cluster: RealCluster, settings: str) -> None:
        assert self.edit(cluster, "s/red/blue/", settings).out == "configmap/settings edited\n"
        done = self.edit(cluster, "s/colour/shade/", settings, "-o", "json")
        assert json.loads(done.out)["data"] == {"shade": "blue"}
        assert cluster.get(settings, *IN)["data"] == {"shade": "blue"}

    def test_edit_of_a_subresource(self, cluster: RealCluster) -> None:
        done = self.edit(cluster, "s/lastUpdateTime:.*/lastUpdateTime:\\ null/", WEB, "--subresource=status")
        assert done.out == "deployment.apps/web edited\n"

    def test_edit_without_change_and_with_invalid_text(self, cluster: RealCluster, settings: str) -> None:
        done = self.edit(cluster, "s/none/none/", settings)
        assert (done.code, done.err) == (0, "Edit cancelled, no changes made.\n")
        done = self.edit(cluster, "s/replicas:.*/replicas:\\ -1/", WEB)
        assert done.code == 1
        assert 'deployments.apps "web" is invalid' in done.err


class TestLabelsAndAnnotations:
    @pytest.mark.parametrize("verb", ["label", "annotate"])
    def test_label_is_set_changed_and_removed(self, cluster: RealCluster, settings: str, verb: str) -> None:
        where = "{.metadata.labels}" if verb == "label" else "{.metadata.annotations}"
        assert cluster.kubectl(verb, *IN, settings, "x=1").endswith("ed\n")
        refused = cluster.try_kubectl(verb, *IN, settings, "x=2")
        assert "--overwrite is false" in refused.err
        cluster.kubectl(verb, *IN, settings, "x=2", "y=3", "--overwrite")
        assert json.loads(field(cluster, settings, where)) == {"x": "2", "y": "3"}
        assert cluster.kubectl(verb, *IN, settings, "--list").split() in (["x=2", "y=3"], ["y=3", "x=2"])
        stale = cluster.try_kubectl(verb, *IN, settings, "z=1", "--resource-version=1")
        assert "the object has been modified" in stale.err
        cluster.kubectl(verb, *IN, settings, "x-", "y-")
        assert field(cluster, settings, where) == ""

    def test_many_objects_are_labelled_at_once(self, cluster: RealCluster, settings: str) -> None:
        done = cluster.kubectl("label", *IN, "configmaps", "--all", "round=1")
        assert done.splitlines() == ["configmap/kube-root-ca.crt labeled", "configmap/settings labeled"]
        imagined = cluster.kubectl(
            "annotate", *IN, "cm", "-l", "round", "a=b", "--dry-run=server", "-o", "name"
        )
        assert imagined.split() == ["configmap/kube-root-ca.crt", "configmap/settings"]
        assert field(cluster, settings, "{.metadata.annotations}") == ""
        wrong = cluster.try_kubectl("label", *IN, settings, "a b=c")
        assert "name part must consist of alphanumeric characters" in wrong.err


class TestSet:
    def test_set_image_env_and_resources(self, cluster: RealCluster, settings: str) -> None:
        container = "{.spec.template.spec.containers[0]}"
        cluster.kubectl(*IN, "set", "image", WEB, "*=web:2")
        cluster.kubectl(*IN, "set", "env", WEB, "COLOUR=blue")
        cluster.kubectl(*IN, "set", "env", WEB, "--from=configmap/settings", "--prefix=S_")
        cluster.kubectl(*IN, "set", "resources", WEB, "--limits=cpu=200m", "--requests=cpu=100m")
        found = json.loads(field(cluster, WEB, container))
        assert (found["image"], found["resources"]["requests"]) == ("web:2", {"cpu": "100m"})
        listed = cluster.kubectl(*IN, "set", "env", WEB, "--list", "--resolve").splitlines()
        assert listed == ["# Deployment web, container web", "COLOUR=blue", "S_COLOUR=red"]
        cluster.kubectl(*IN, "set", "env", WEB, "COLOUR-", "S_COLOUR-")
        assert "env" not in json.loads(field(cluster, WEB, container))
        refused = cluster.try_kubectl(*IN, "set", "image", WEB, "none=web:3")
        assert 'unable to find container named "none"' in refused.err

    def test_set_service_account_selector_and_subject(self, cluster: RealCluster) -> None:
        cluster.kubectl(*IN, "create", "serviceaccount", "runner")
        cluster.kubectl(*IN, "set", "serviceaccount", WEB, "runner")
        assert field(cluster, WEB, "{.spec.template.spec.serviceAccountName}") == "runner"
        cluster.kubectl(*IN, "expose", WEB, "--port=80")
        cluster.kubectl(*IN, "set", "selector", "service/web", "app=other")
        assert field(cluster, "service/web", "{.spec.selector}") == '{"app":"other"}'
        cluster.kubectl(*IN, "create", "rolebinding", "viewers", "--clusterrole=view", "--user=ann")
        cluster.kubectl(*IN, "set", "subject", "rolebinding/viewers", "--user=bob")
        assert field(cluster, "rolebinding/viewers", "{.subjects[*].name}") == "ann bob"


class TestManifests:
    @pytest.mark.parametrize(
        ("manifest", "said"),
        [
            ({"kind": "ConfigMap", "metadata": {"name": "x"}}, "error validating data: apiVersion not set"),
            ({"apiVersion": "v1", "metadata": {"name": "x"}}, "error validating data: kind not set"),
            (
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "dta": {}},
                'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
                'unknown field "dta"',
            ),
            (
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": 1}},
                "cannot unmarshal number into Go struct field ConfigMap.data of type string",
            ),
            ({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "x"}}, "no matches for kind"),
        ],
    )
    def test_invalid_manifests_are_refused_before_storage(
        self, cluster: RealCluster, manifest: dict[str, Any], said: str
    ) -> None:
        done = cluster.try_kubectl("create", *IN, "-f", "-", stdin=json.dumps(manifest))
        assert done.code == 1
        assert said in done.err

    def test_validation_is_strict_warning_or_ignored(self, cluster: RealCluster) -> None:
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "odd"}, "dta": {}}
        odd = json.dumps(manifest)
        strict = cluster.try_kubectl("create", *IN, "-f", "-", stdin=odd)
        assert 'unknown field "dta"' in strict.err
        warned = cluster.try_kubectl("create", *IN, "-f", "-", "--validate=warn", stdin=odd)
        assert warned.code == 0
        assert 'Warning: unknown field "dta"' in warned.err
        quiet = cluster.try_kubectl("replace", *IN, "-f", "-", "--validate=ignore", stdin=odd)
        assert (quiet.code, quiet.err) == (0, "")
        assert "dta" not in cluster.get("configmap/odd", *IN)

    def test_raw_requests_create_and_delete(self, cluster: RealCluster) -> None:
        maps = f"/api/v1/namespaces/{SPACE}/configmaps"
        body = '{"metadata":{"name":"raw"}}'
        assert json.loads(cluster.kubectl("create", "--raw", maps, "-f", "-", stdin=body))["metadata"]["uid"]
        body = '{"metadata":{"name":"raw"},"data":{"a":"b"}}'
        changed = cluster.kubectl("replace", "--raw", f"{maps}/raw", "-f", "-", stdin=body)
        assert json.loads(changed)["data"] == {"a": "b"}
        assert json.loads(cluster.kubectl("delete", "--raw", f"{maps}/raw"))["status"] == "Success"

    def test_kustomize_builds_without_a_server(self, cluster: RealCluster, tmp_path: Path) -> None:
        (tmp_path / "kustomization.yaml").write_text("configMapGenerator: [{name: made, literals: [a=b]}]")
        built = cluster.kubectl("kustomize", str(tmp_path))
        assert "name: made-" in built
        assert cluster.kubectl("apply", *IN, "-f", "-", stdin=built).endswith(" created\n")
