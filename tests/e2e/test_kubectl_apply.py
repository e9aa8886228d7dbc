"""Declarative work with the real kubectl: apply on both sides, conflicts, diff, replace, prune, kustomize."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import Done, RealCluster, namespace

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SPACE = "applying"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.fixture(scope="module", autouse=True)
def space(cluster: RealCluster) -> Iterator[None]:
    """A namespace of this file's own."""
    with namespace(cluster, SPACE):
        yield


def config_map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": SPACE, "labels": {"set": "maps"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(name: str, replicas: int | None, **spec: Any) -> dict[str, Any]:
    """Return a Deployment that runs nothing: its pods select a node that does not exist."""
    container = {"name": "main", "image": "podling.local/host", "command": ["true"]}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"nodeSelector": {"no": "where"}, "containers": [container]},
    }
    told = {"selector": {"matchLabels": {"app": name}}, "template": template, **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": told | ({} if replicas is None else {"replicas": replicas}),
    }


def run(cluster: RealCluster, verb: str, manifest: Any, *options: str) -> Done:
    return cluster.try_kubectl(*verb.split(), "-f", "-", *options, stdin=json.dumps(manifest))


def server_apply(cluster: RealCluster, manifest: Any, *options: str) -> Done:
    return run(cluster, "apply --server-side", manifest, *options)


def managers(cluster: RealCluster, kind: str, name: str) -> dict[str, Any]:
    """Return the fields by ``manager operation [subresource]``, as ``--show-managed-fields`` shows them."""
    text = cluster.kubectl("get", kind, name, "-n", SPACE, "-o", "json", "--show-managed-fields")
    return {
        " ".join(filter(None, (each["manager"], each["operation"], each.get("subresource")))): each[
            "fieldsV1"
        ]
        for each in json.loads(text)["metadata"].get("managedFields", ())
    }


def test_second_manager_of_a_field_gets_a_conflict(cluster: RealCluster) -> None:
    assert server_apply(cluster, config_map("shared", a="1", b="1")).out == (
        "configmap/shared serverside-applied\n"
    )
    assert managers(cluster, "configmap", "shared") == {
        "kubectl Apply": {
            "f:data": {"f:a": {}, "f:b": {}},
            "f:metadata": {"f:labels": {"f:set": {}}},
        }
    }

    other = ("--field-manager", "other")
    refused = server_apply(cluster, config_map("shared", a="2", c="2"), *other)
    assert refused.code == 1
    assert refused.err.startswith(
        'error: Apply failed with 1 conflict: conflict with "kubectl": .data.a\n'
        "Please review the fields above"
    )
    twice = server_apply(cluster, config_map("shared", a="2", b="2"), *other)
    assert twice.err.startswith(
        'error: Apply failed with 2 conflicts: conflicts with "kubectl":\n- .data.a\n- .data.b\n'
    )
    forced = server_apply(cluster, config_map("shared", a="2", c="2"), *other, "--force-conflicts")
    assert forced.code == 0
    stored = cluster.get("configmap", "shared", "-n", SPACE)
    assert stored["data"] == {"a": "2", "b": "1", "c": "2"}, "what only the first says stays"
    assert "managedFields" not in stored["metadata"], "kubectl hides them unless asked"
    assert {name: each["f:data"] for name, each in managers(cluster, "configmap", "shared").items()} == {
        "kubectl Apply": {"f:b": {}},
        "other Apply": {"f:a": {}, "f:c": {}},
    }

    assert server_apply(cluster, config_map("shared", a="2"), *other).code == 0
    assert cluster.get("configmap", "shared", "-n", SPACE)["data"] == {"a": "2", "b": "1"}, (
        "what is not said any more goes"
    )


def test_a_client_side_applied_object_moves_to_the_server(cluster: RealCluster) -> None:
    manifest = deployment("moved", 0)
    assert run(cluster, "apply", manifest).code == 0
    before = managers(cluster, "deployment", "moved")["kubectl-client-side-apply Update"]
    assert before["f:spec"]["f:strategy"] == {
        "f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}},
        "f:type": {},
    }
    assert server_apply(cluster, manifest).code == 0, "kubectl takes over what it applied itself"
    after = managers(cluster, "deployment", "moved")
    assert "kubectl-client-side-apply Update" not in after
    assert after["kubectl Apply"]["f:spec"]["f:replicas"] == {}
    assert "f:strategy" not in after["kubectl Apply"]["f:spec"], "a default was never said"
    assert LAST_APPLIED in json.dumps(after["kubectl-last-applied Apply"])

    assert server_apply(cluster, deployment("moved", None)).code == 0
    spec = cluster.get("deployment", "moved", "-n", SPACE)["spec"]
    assert spec["replicas"] == 1, "withdrawn, so the default again"
    assert run(cluster, "apply", manifest).code == 0, "and back to the client"


def test_the_scale_subresource_owns_what_it_scales(cluster: RealCluster) -> None:
    manifest = deployment("scaled", 0)
    server_apply(cluster, manifest)
    cluster.kubectl("scale", "deployment", "scaled", "-n", SPACE, "--replicas=2")
    assert managers(cluster, "deployment", "scaled")["kubectl Update scale"] == {"f:spec": {"f:replicas": {}}}
    refused = server_apply(cluster, manifest)
    assert 'conflict with "kubectl" with subresource "scale" using apps/v1: .spec.replicas' in refused.err
    assert server_apply(cluster, deployment("scaled", None)).code == 0
    assert cluster.get("deployment", "scaled", "-n", SPACE)["spec"]["replicas"] == 2, (
        "whoever does not say the replicas leaves them to the scaler"
    )


def test_managed_fields_name_controllers(cluster: RealCluster) -> None:
    server_apply(cluster, deployment("watched", 0))
    cluster.kubectl("rollout", "status", "-n", SPACE, "deployment/watched", "--timeout=30s")
    found = managers(cluster, "deployment", "watched")
    assert "f:observedGeneration" in found["kube-controller-manager Update status"]["f:status"]


def test_invalid_apply_configurations_are_refused(cluster: RealCluster) -> None:
    unknown = server_apply(cluster, deployment("wrong", 0, replcas=1))
    assert unknown.err == (
        "Error from server: failed to create typed patch object (applying/wrong; apps/v1, Kind=Deployment): "
        ".spec.replcas: field not declared in schema\n"
    )
    negative = server_apply(cluster, deployment("wrong", -1))
    assert negative.err == (
        'The Deployment "wrong" is invalid: spec.replicas: Invalid value: -1: '
        "must be greater than or equal to 0\n"
    )
    code, status, _ = cluster.request(
        "PATCH",
        f"/api/v1/namespaces/{SPACE}/configmaps/wrong",
        json.dumps(config_map("wrong")).encode(),
        "application/apply-patch+yaml",
    )
    assert (code, status["message"]) == (
        422,
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )
    code, status, _ = cluster.request(
        "PATCH",
        f"/api/v1/namespaces/{SPACE}/configmaps/wrong?fieldManager=me",
        b"\xa0",
        "application/apply-patch+cbor",
    )
    assert (code, status["reason"]) == (415, "UnsupportedMediaType")
    assert cluster.try_kubectl("get", "configmap", "wrong", "-n", SPACE).code == 1


def test_applying_creates_with_201_and_changes_with_200(cluster: RealCluster) -> None:
    path = f"/api/v1/namespaces/{SPACE}/configmaps/coded?fieldManager=me"
    said = json.dumps(config_map("coded", a="1")).encode()
    codes = [cluster.request("PATCH", path, said, "application/apply-patch+yaml")[0] for _ in range(2)]
    assert codes == [201, 200]
    revisions = {
        cluster.request("PATCH", path, said, "application/apply-patch+yaml")[1]["metadata"]["resourceVersion"]
        for _ in range(3)
    }
    assert len(revisions) == 1, "what changes nothing stores nothing"


@pytest.mark.parametrize("side", ["--server-side=true", "--server-side=false"])
def test_diff_shows_what_an_apply_would_do(cluster: RealCluster, side: str) -> None:
    run(cluster, "apply", deployment("compared", 0), side)
    options = (side, "--field-manager=kubectl")
    assert run(cluster, "diff", deployment("compared", 0), *options).code == 0
    differs = run(cluster, "diff", deployment("compared", 3), *options)
    assert differs.code == 1
    assert "-  replicas: 0\n+  replicas: 3\n" in differs.out
    assert "-  generation: 1\n+  generation: 2\n" in differs.out
    assert cluster.get("deployment", "compared", "-n", SPACE)["spec"]["replicas"] == 0
    cluster.kubectl("delete", "deployment", "compared", "-n", SPACE)


def test_a_dry_run_on_the_server_stores_nothing(cluster: RealCluster) -> None:
    for options in ((), ("--server-side",)):
        done = run(cluster, "apply", config_map("imagined", a="1"), "--dry-run=server", *options)
        assert (done.code, "server dry run" in done.out) == (0, True)
    assert cluster.try_kubectl("get", "configmap", "imagined", "-n", SPACE).code == 1


def test_replace_and_replace_by_force(cluster: RealCluster) -> None:
    run(cluster, "create", config_map("replaced", a="1"))
    first = cluster.get("configmap", "replaced", "-n", SPACE)["metadata"]["uid"]
    assert run(cluster, "replace", config_map("replaced", b="2")).out == "configmap/replaced replaced\n"
    stored = cluster.get("configmap", "replaced", "-n", SPACE)
    assert (stored["data"], stored["metadata"]["uid"]) == ({"b": "2"}, first)
    forced = run(cluster, "replace", config_map("replaced", c="3"), "--force")
    assert forced.out == 'configmap "replaced" deleted\nconfigmap/replaced replaced\n'
    assert cluster.get("configmap", "replaced", "-n", SPACE)["metadata"]["uid"] != first
    absent = run(cluster, "replace", config_map("absent"))
    assert 'configmaps "absent" not found' in absent.err
    stale = config_map("replaced")
    stale["metadata"]["resourceVersion"] = "1"
    assert "the object has been modified" in run(cluster, "replace", stale).err


def test_last_applied_can_be_seen_and_set(cluster: RealCluster) -> None:
    run(cluster, "create", config_map("late", a="1"))
    warned = run(cluster, "apply", config_map("late", a="1"))
    assert "missing the kubectl.kubernetes.io/last-applied-configuration annotation" in warned.err
    viewed = cluster.kubectl("apply", "view-last-applied", "configmap/late", "-n", SPACE, "-o", "json")
    assert json.loads(viewed)["data"] == {"a": "1"}
    assert run(cluster, "apply set-last-applied", config_map("late", a="1", b="2")).code == 0
    assert run(cluster, "apply", config_map("late", a="1")).out == "configmap/late configured\n"


def test_prune_deletes_what_the_set_no_longer_has(cluster: RealCluster) -> None:
    options = ("--prune", "-l", "set=maps", "--prune-allowlist=core/v1/ConfigMap", "-n", SPACE)
    both = {"apiVersion": "v1", "kind": "List", "items": [config_map("kept"), config_map("pruned")]}
    assert run(cluster, "apply", both, *options).code == 0
    assert "configmap/pruned pruned\n" in run(cluster, "apply", config_map("kept"), *options).out
    assert cluster.try_kubectl("get", "configmap", "pruned", "-n", SPACE).code == 1


def test_kustomize_directory_is_applied(cluster: RealCluster, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(
        f"namespace: {SPACE}\nnamePrefix: pre-\n"
        "labels: [{pairs: {from: kustomize}}]\n"
        "resources: [deployment.json]\n"
        "configMapGenerator: [{name: made, literals: [a=b]}]\n"
    )
    (tmp_path / "deployment.json").write_text(json.dumps(deployment("web", 0)))
    for options in ((), ("--server-side",)):
        done = cluster.kubectl("apply", "-k", str(tmp_path), *options)
        assert "deployment.apps/pre-web " in done
        listed = cluster.kubectl("get", "configmaps,deployments", "-n", SPACE, "-l", "from=kustomize")
        assert "configmap/pre-made-" in listed
        assert cluster.try_kubectl("diff", "-k", str(tmp_path)).code == 0
        assert cluster.kubectl("delete", "-k", str(tmp_path)).count("deleted") == 2
