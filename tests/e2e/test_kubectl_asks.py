"""kubectl's queries: rights, waiting for conditions, and discovery."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.clusters import RealCluster
from tests.support.kubectl_space import IN, SPACE, WEB, field, web_in_a_space

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster(sim_cluster: RealCluster) -> Iterator[RealCluster]:
    with web_in_a_space(sim_cluster) as cluster:
        yield cluster


class TestRights:
    def test_can_i_answers_by_role(self, cluster: RealCluster) -> None:
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

    def test_whoami_shows_impersonated_user(self, cluster: RealCluster) -> None:
        said = cluster.kubectl("auth", "whoami", "--as=eve", "--as-group=dev", "--as-uid=7", "-o", "json")
        assert json.loads(said)["status"]["userInfo"] == {
            "username": "eve",
            "uid": "7",
            "groups": ["dev", "system:authenticated"],
        }

    def test_auth_reconcile_extends_roles(self, cluster: RealCluster) -> None:
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


class TestWaiting:
    def test_wait_for_creation(self, cluster: RealCluster) -> None:
        late = cluster.try_kubectl("wait", *IN, "--for=create", "configmap/late", "--timeout=1s")
        assert late.code == 1
        cluster.kubectl(*IN, "create", "configmap", "late")
        met = cluster.kubectl("wait", *IN, "--for=create", "configmap/late")
        assert met == "configmap/late condition met\n"

    def test_wait_for_any_value_of_many_objects(self, cluster: RealCluster) -> None:
        met = cluster.kubectl("wait", *IN, "--for=jsonpath={.metadata.uid}", "configmaps", "--all")
        assert len(met.splitlines()) == len(cluster.get("configmaps", *IN)["items"])
        met = cluster.kubectl("wait", "--for=condition=Ready=true", "nodes", "--all")
        assert met.endswith("condition met\n")
        none = cluster.try_kubectl("wait", *IN, "--for=condition=Ready", "pods", "--all", "--timeout=1s")
        assert none.err == "error: no matching resources found\n"


class TestDiscovery:
    def test_api_resources_are_filtered_by_verb_and_category(self, cluster: RealCluster) -> None:
        def listed(*options: str) -> list[str]:
            return cluster.kubectl("api-resources", "-o", "name", *options).split()

        assert listed("--api-group=policy") == ["poddisruptionbudgets.policy"]
        assert "nodes" in listed("--namespaced=false")
        assert "pods" not in listed("--namespaced=false")
        assert "tokenreviews.authentication.k8s.io" not in listed("--verbs=list")
        assert set(listed("--categories=all")) >= {"pods", "services", "deployments.apps", "jobs.batch"}
        table = cluster.kubectl("api-resources", "--sort-by=kind", "--no-headers", "--api-group=batch")
        assert [line.split()[-1] for line in table.splitlines()] == ["CronJob", "Job"]

    def test_one_kind_is_read_in_two_versions(self, cluster: RealCluster) -> None:
        versions = cluster.kubectl("api-versions").splitlines()
        assert {"v1", "apps/v1", "autoscaling/v1", "autoscaling/v2"} <= set(versions)
        cluster.kubectl(*IN, "autoscale", WEB, "--max=3", "--cpu-percent=50")
        for version in ("v1", "v2"):
            name = f"horizontalpodautoscalers.{version}.autoscaling/web"
            assert field(cluster, name, "{.apiVersion}") == f"autoscaling/{version}"

    def test_explain_shows_types_and_versions(self, cluster: RealCluster) -> None:
        text = cluster.kubectl("explain", "deployment", "--recursive")
        assert "        containers\t<[]Container> -required-\n" in text
        assert "maxSurge\t<IntOrString>" in text
        text = cluster.kubectl("explain", "hpa.spec", "--api-version=autoscaling/v1")
        assert "VERSION:    v1" in text
        assert "targetCPUUtilizationPercentage\t<integer>" in text
        unknown = cluster.try_kubectl("explain", "pod.spec.nothing")
        assert 'field "nothing" does not exist' in unknown.err
