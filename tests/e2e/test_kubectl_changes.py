"""How kubectl changes what there is: patches of every type, edit, labels, set, rights; what it refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import Done, RealCluster, command

pytestmark = pytest.mark.e2e

SPACE = "changed"
IN = ("-n", SPACE)
WEB = "deployment/web"


@pytest.fixture(scope="module")
def cluster(sim_cluster: RealCluster) -> Iterator[RealCluster]:
    """A namespace with a deployment of nothing."""
    sim_cluster.kubectl("create", "namespace", SPACE)
    sim_cluster.kubectl(*IN, "create", "deployment", "web", "--image=web:1", "--replicas=0")
    yield sim_cluster
    sim_cluster.kubectl("delete", "namespace", SPACE)


def field(cluster: RealCluster, what: str, path: str) -> str:
    return cluster.kubectl("get", *IN, what, "-o", f"jsonpath={path}")


@pytest.fixture
def settings(cluster: RealCluster) -> Iterator[str]:
    """A config map of the test's own."""
    cluster.kubectl(*IN, "create", "configmap", "settings", "--from-literal=colour=red")
    yield "configmap/settings"
    cluster.kubectl(*IN, "delete", "configmap", "settings")


TYPES: dict[str, tuple[Any, Any, Any]] = {
    "strategic": ({"spec": {"paused": True}}, {"spec": {"replicas": 1}}, {"status": {"replicas": 3}}),
    "merge": (
        {"spec": {"paused": None, "minReadySeconds": 1}},
        {"spec": {"replicas": 2}},
        {"status": {"replicas": 4}},
    ),
    "json": (
        [{"op": "replace", "path": "/spec/minReadySeconds", "value": 2}],
        [{"op": "add", "path": "/spec/replicas", "value": 3}],
        [{"op": "add", "path": "/status/replicas", "value": 5}],
    ),
}
"""Patches of the object, its scale and its status."""


class TestPatches:
    @pytest.mark.parametrize("type_", TYPES)
    def test_every_type_on_every_subresource(self, cluster: RealCluster, type_: str) -> None:
        whole, scale, status = (json.dumps(each) for each in TYPES[type_])
        patch = ("patch", *IN, WEB, "--type", type_)
        assert cluster.kubectl(*patch, "-p", whole) == "deployment.apps/web patched\n"
        said = cluster.kubectl(*patch, "--subresource=scale", "-p", scale, "--dry-run=server", "-o", "json")
        assert json.loads(said)["kind"] == "Scale"
        assert json.loads(said)["spec"]["replicas"] == {"strategic": 1, "merge": 2, "json": 3}[type_]
        shown = cluster.kubectl(
            *patch,
            "--subresource=status",
            "-p",
            status,
            "--dry-run=server",
            "-o",
            "jsonpath={.status.replicas}",
        )
        assert int(shown) == {"strategic": 3, "merge": 4, "json": 5}[type_]
        same = [] if type_ == "json" else {"metadata": {}}
        again = cluster.kubectl(*patch, "-p", json.dumps(same))
        assert again == "deployment.apps/web patched (no change)\n"

    def test_the_directives_of_a_strategic_patch(self, cluster: RealCluster) -> None:
        containers = [{"name": "web", "$patch": "delete"}, {"name": "other", "image": "other:1"}]
        patch = {"spec": {"template": {"spec": {"containers": containers}}}}
        names = "{.spec.template.spec.containers[*].name}"
        dry = ("patch", *IN, WEB, "--dry-run=server", "-o", f"jsonpath={names}", "-p")
        assert cluster.kubectl(*dry, json.dumps(patch)) == "other"
        kept = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
        said = cluster.kubectl("patch", *IN, WEB, "--dry-run=server", "-o", "json", "-p", json.dumps(kept))
        assert json.loads(said)["spec"]["strategy"] == {"type": "Recreate"}

    @pytest.mark.parametrize(
        ("type_", "patch", "said"),
        [
            (
                "json",
                '[{"op":"test","path":"/spec/replicas","value":9}]',
                "The request is invalid: ",
            ),
            ("json", '[{"op":"remove","path":"/spec/none"}]', "rejected our request due to an error in our"),
            ("json", '[{"op":"replace","path":"/spec/replicas","value":-1}]', "greater than or equal to 0"),
            ("json", "{}", "cannot unmarshal object into Go value of type []interface {}"),
            ("merge", "[]", "error decoding patch: json: cannot unmarshal array into Go value of type map"),
            ("merge", '{"spec":{"selector":{"matchLabels":{"a":"b"}}}}', "field is immutable"),
            ("merge", '{"metadata":{"resourceVersion":"1"}}', "the object has been modified"),
            ("strategic", '{"spec":{"replicas":"many"}}', "unrecognized type: int32"),
            (
                "strategic",
                '{"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}',
                "does not contain",
            ),
        ],
    )
    def test_what_is_refused(self, cluster: RealCluster, type_: str, patch: str, said: str) -> None:
        done = cluster.try_kubectl("patch", *IN, WEB, "--type", type_, "-p", patch)
        assert done.code == 1
        assert said in done.err

    def test_unknown_fields_are_warned_of(self, cluster: RealCluster) -> None:
        done = cluster.try_kubectl("patch", *IN, WEB, "--type=merge", "-p", '{"spec":{"typo":1}}')
        assert (done.err, done.out) == (
            'Warning: unknown field "spec.typo"\n',
            "deployment.apps/web patched (no change)\n",
        )

    def test_from_a_file_and_without_a_server(self, cluster: RealCluster, tmp_path: Path) -> None:
        (tmp_path / "patch.yaml").write_text("metadata: {annotations: {from: file}}")
        cluster.kubectl("patch", *IN, WEB, "--patch-file", str(tmp_path / "patch.yaml"))
        assert field(cluster, WEB, "{.metadata.annotations.from}") == "file"
        manifest = json.dumps(cluster.get(WEB, *IN))
        local = cluster.kubectl(
            *(
                "patch",
                "-f",
                "-",
                "--local",
                "-p",
                '{"spec":{"replicas":8}}',
                "-o",
                "jsonpath={.spec.replicas}",
            ),
            stdin=manifest,
        )
        assert local == "8"


class TestStatus:
    """What only controllers write, written by hand."""

    def test_applied_and_replaced(self, cluster: RealCluster) -> None:
        types = "{.status.conditions[*].type}"
        mine = {"type": "Mine", "status": "True"}
        head = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": SPACE},
        }
        applying = ("apply", "--server-side", "--subresource=status", "--field-manager=me", "-f", "-")
        said = cluster.kubectl(*applying, stdin=json.dumps({**head, "status": {"conditions": [mine]}}))
        assert said == "deployment.apps/web serverside-applied\n"
        assert "Mine" in field(cluster, WEB, types).split()
        found = cluster.get(WEB, *IN)
        found["spec"]["paused"] = not found["spec"].get("paused", False)
        found["status"]["conditions"] = [
            {**each, "type": "Yours"} if each["type"] == "Mine" else each
            for each in found["status"]["conditions"]
        ]
        cluster.kubectl("replace", "--subresource=status", "-f", "-", stdin=json.dumps(found))
        assert "Yours" in field(cluster, WEB, types).split()
        assert cluster.get(WEB, *IN)["spec"].get("paused", False) is not found["spec"]["paused"]
        withdrawn = {**head, "status": {"conditions": []}}
        cluster.kubectl(*applying, stdin=json.dumps(withdrawn))

    def test_a_container_beside_the_others(self, cluster: RealCluster) -> None:
        cluster.kubectl(*IN, "run", "looked-at", "--image=web:1")
        cluster.wait_ready("looked-at", *IN)
        looking = ("--image=web:1", "--container=look", "--profile=general", "--attach=false")
        cluster.kubectl(*IN, "debug", "looked-at", *looking)
        running = "jsonpath={.status.ephemeralContainerStatuses[0].state.running}"
        cluster.kubectl(*IN, "wait", f"--for={running}", "pod/looked-at", "--timeout=60s")
        assert field(cluster, "pod/looked-at", "{.spec.ephemeralContainers[*].name}") == "look"
        cluster.kubectl(*IN, "delete", "pod", "looked-at", "--now")


def test_a_set_of_manifests_remembers_its_members(cluster: RealCluster) -> None:
    """``--applyset``: members are found again by a label, and what is no member any more goes."""
    items = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": SPACE}}
        for name in ("member", "left")
    ]

    def apply(*members: dict[str, Any]) -> str:
        manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(members)})
        telling = cluster.kubectl_command("apply", *IN, "--prune", "--applyset=members", "-f", "-")
        done = command(telling, stdin=manifest, environment=os.environ | {"KUBECTL_APPLYSET": "true"})
        assert done.code == 0, done.err
        return done.out

    assert apply(*items).split() == ["configmap/member", "created", "configmap/left", "created"]
    assert "configmap/left pruned\n" in apply(items[0])
    parent = cluster.get("secret", "members", *IN)["metadata"]
    assert parent["annotations"]["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"
    assert "applyset.kubernetes.io/id" in parent["labels"]
    cluster.kubectl(*IN, "delete", "configmap/member", "secret/members")


class TestEdit:
    def edit(self, cluster: RealCluster, script: str, *arguments: str) -> Done:
        environment = os.environ | {"KUBE_EDITOR": f"sed -i {script}"}
        return command(cluster.kubectl_command("edit", *IN, *arguments), environment=environment)

    def test_as_yaml_and_as_json(self, cluster: RealCluster, settings: str) -> None:
        assert self.edit(cluster, "s/red/blue/", settings).out == "configmap/settings edited\n"
        done = self.edit(cluster, "s/colour/shade/", settings, "-o", "json")
        assert json.loads(done.out)["data"] == {"shade": "blue"}
        assert cluster.get(settings, *IN)["data"] == {"shade": "blue"}

    def test_a_subresource(self, cluster: RealCluster) -> None:
        done = self.edit(cluster, "s/lastUpdateTime:.*/lastUpdateTime:\\ null/", WEB, "--subresource=status")
        assert done.out == "deployment.apps/web edited\n"

    def test_nothing_and_nonsense(self, cluster: RealCluster, settings: str) -> None:
        done = self.edit(cluster, "s/none/none/", settings)
        assert (done.code, done.err) == (0, "Edit cancelled, no changes made.\n")
        done = self.edit(cluster, "s/replicas:.*/replicas:\\ -1/", WEB)
        assert done.code == 1
        assert 'deployments.apps "web" is invalid' in done.err


class TestLabelsAndAnnotations:
    @pytest.mark.parametrize("verb", ["label", "annotate"])
    def test_a_value_and_its_end(self, cluster: RealCluster, settings: str, verb: str) -> None:
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

    def test_many_at_once(self, cluster: RealCluster, settings: str) -> None:
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
    def test_what_containers_run(self, cluster: RealCluster, settings: str) -> None:
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

    def test_who_runs_and_who_is_meant(self, cluster: RealCluster) -> None:
        cluster.kubectl(*IN, "create", "serviceaccount", "runner")
        cluster.kubectl(*IN, "set", "serviceaccount", WEB, "runner")
        assert field(cluster, WEB, "{.spec.template.spec.serviceAccountName}") == "runner"
        cluster.kubectl(*IN, "expose", WEB, "--port=80")
        cluster.kubectl(*IN, "set", "selector", "service/web", "app=other")
        assert field(cluster, "service/web", "{.spec.selector}") == '{"app":"other"}'
        cluster.kubectl(*IN, "create", "rolebinding", "viewers", "--clusterrole=view", "--user=ann")
        cluster.kubectl(*IN, "set", "subject", "rolebinding/viewers", "--user=bob")
        assert field(cluster, "rolebinding/viewers", "{.subjects[*].name}") == "ann bob"


class TestRights:
    def test_questions(self, cluster: RealCluster) -> None:
        cluster.kubectl(*IN, "create", "role", "reader", "--verb=get,list", "--resource=pods,pods/log")
        cluster.kubectl(*IN, "create", "rolebinding", "reader", "--role=reader", "--user=eve")
        for question, answer in {
            "get pods": "yes",
            "get pods/log": "yes",
            "get pods --subresource=exec": "no",
            "delete pods": "no",
            "get pods -A": "no",
            "get /version": "yes",
            "get /metrics": "no",
        }.items():
            done = cluster.try_kubectl("auth", "can-i", *IN, *question.split(), "--as=eve")
            assert (question, done.out) == (question, f"{answer}\n")
        listed = cluster.kubectl("auth", "can-i", "--list", *IN, "--as=eve")
        assert [line.split()[-2:] for line in listed.splitlines() if "pods/log" in line] == [
            ["[get", "list]"]
        ]
        refused = cluster.try_kubectl("get", "secrets", *IN, "--as=eve")
        assert refused.err == (
            'Error from server (Forbidden): secrets is forbidden: User "eve" cannot list resource "secrets" '
            f'in API group "" in the namespace "{SPACE}"\n'
        )

    def test_who_asks(self, cluster: RealCluster) -> None:
        said = cluster.kubectl("auth", "whoami", "--as=eve", "--as-group=dev", "--as-uid=7", "-o", "json")
        assert json.loads(said)["status"]["userInfo"] == {
            "username": "eve",
            "uid": "7",
            "groups": ["dev", "system:authenticated"],
        }

    def test_reconciling_roles(self, cluster: RealCluster) -> None:
        def reconcile(verbs: list[str], user: str, role: str, *options: str) -> str:
            head = {"name": "told", "namespace": SPACE}
            group = "rbac.authorization.k8s.io"
            rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]
            items = [
                {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": head, "rules": rules},
                {
                    "apiVersion": f"{group}/v1",
                    "kind": "RoleBinding",
                    "metadata": head,
                    "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
                    "roleRef": {"kind": role, "name": "told", "apiGroup": group},
                },
            ]
            manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
            return cluster.try_kubectl("auth", "reconcile", "-f", "-", *options, stdin=manifest).err

        assert reconcile(["get"], "ann", "Role").count("reconciliation required create") == 2
        assert "missing rules added" in reconcile(["list"], "bob", "Role")
        removed = reconcile(["list"], "bob", "Role", "--remove-extra-permissions", "--remove-extra-subjects")
        assert "extra rules removed" in removed
        assert "extra subjects removed" in removed
        assert field(cluster, "role/told", "{.rules[*].verbs}") == '["list"]'
        assert "required recreate" in reconcile(["list"], "bob", "ClusterRole")
        assert field(cluster, "rolebinding/told", "{.roleRef.kind}") == "ClusterRole"


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
    def test_what_is_refused_before_anything_is_stored(
        self, cluster: RealCluster, manifest: dict[str, Any], said: str
    ) -> None:
        done = cluster.try_kubectl("create", *IN, "-f", "-", stdin=json.dumps(manifest))
        assert done.code == 1
        assert said in done.err

    def test_as_strictly_as_one_likes(self, cluster: RealCluster) -> None:
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

    def test_raw_requests(self, cluster: RealCluster) -> None:
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


class TestWaiting:
    def test_for_what_is_yet_to_come(self, cluster: RealCluster) -> None:
        late = cluster.try_kubectl("wait", *IN, "--for=create", "configmap/late", "--timeout=1s")
        assert late.code == 1
        cluster.kubectl(*IN, "create", "configmap", "late")
        met = cluster.kubectl("wait", *IN, "--for=create", "configmap/late")
        assert met == "configmap/late condition met\n"

    def test_for_any_value_of_many(self, cluster: RealCluster) -> None:
        met = cluster.kubectl("wait", *IN, "--for=jsonpath={.metadata.uid}", "configmaps", "--all")
        assert len(met.splitlines()) == len(cluster.get("configmaps", *IN)["items"])
        met = cluster.kubectl("wait", "--for=condition=Ready=true", "nodes", "--all")
        assert met.endswith("condition met\n")
        none = cluster.try_kubectl("wait", *IN, "--for=condition=Ready", "pods", "--all", "--timeout=1s")
        assert none.err == "error: no matching resources found\n"


class TestDiscovery:
    def test_resources_by_what_they_can_do(self, cluster: RealCluster) -> None:
        def listed(*options: str) -> list[str]:
            return cluster.kubectl("api-resources", "-o", "name", *options).split()

        assert listed("--api-group=policy") == ["poddisruptionbudgets.policy"]
        assert "nodes" in listed("--namespaced=false")
        assert "pods" not in listed("--namespaced=false")
        assert "tokenreviews.authentication.k8s.io" not in listed("--verbs=list")
        assert set(listed("--categories=all")) >= {"pods", "services", "deployments.apps", "jobs.batch"}
        table = cluster.kubectl("api-resources", "--sort-by=kind", "--no-headers", "--api-group=batch")
        assert [line.split()[-1] for line in table.splitlines()] == ["CronJob", "Job"]

    def test_versions_of_one_kind(self, cluster: RealCluster) -> None:
        versions = cluster.kubectl("api-versions").splitlines()
        assert {"v1", "apps/v1", "autoscaling/v1", "autoscaling/v2"} <= set(versions)
        cluster.kubectl(*IN, "autoscale", WEB, "--max=3", "--cpu-percent=50")
        for version in ("v1", "v2"):
            name = f"horizontalpodautoscalers.{version}.autoscaling/web"
            assert field(cluster, name, "{.apiVersion}") == f"autoscaling/{version}"

    def test_explanations(self, cluster: RealCluster) -> None:
        text = cluster.kubectl("explain", "deployment", "--recursive")
        assert "        containers\t<[]Container> -required-\n" in text
        assert "maxSurge\t<IntOrString>" in text
        text = cluster.kubectl("explain", "hpa.spec", "--api-version=autoscaling/v1")
        assert "VERSION:    v1" in text
        assert "targetCPUUtilizationPercentage\t<integer>" in text
        unknown = cluster.try_kubectl("explain", "pod.spec.nothing")
        assert 'field "nothing" does not exist' in unknown.err
