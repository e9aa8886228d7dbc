"""kubectl's patches: every type, of objects, their scale and status; and pruned sets of manifests."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import RealCluster, command
from tests.support.kubectl_space import IN, SPACE, WEB, field, web_in_a_space

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster(sim_cluster: RealCluster) -> Iterator[RealCluster]:
    with web_in_a_space(sim_cluster) as cluster:
        yield cluster


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

    def test_strategic_patch_follows_its_directives(self, cluster: RealCluster) -> None:
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
            ("json", "{}", "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
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
    def test_invalid_patches_are_refused(
        self, cluster: RealCluster, type_: str, patch: str, said: str
    ) -> None:
        done = cluster.try_kubectl("patch", *IN, WEB, "--type", type_, "-p", patch)
        assert done.code == 1
        assert said in done.err

    def test_unknown_fields_are_warned_of(self, cluster: RealCluster) -> None:
        done = cluster.try_kubectl("patch", *IN, WEB, "--type=merge", "-p", '{"spec":{"typo":1}}')
        assert (done.err, done.out) == (
            'Warning: unknown field "spec.typo"\n',
            "deployment.apps/web patched (no change)\n",
        )

    def test_patch_from_a_file_and_without_a_server(self, cluster: RealCluster, tmp_path: Path) -> None:
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
    """Status fields, which only controllers write otherwise."""

    def test_status_is_applied_and_replaced(self, cluster: RealCluster) -> None:
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

    def test_ephemeral_container_is_added(self, cluster: RealCluster) -> None:
        cluster.kubectl(*IN, "run", "looked-at", "--image=web:1")
        cluster.wait_ready("looked-at", *IN)
        looking = ("--image=web:1", "--container=look", "--profile=general", "--attach=false")
        cluster.kubectl(*IN, "debug", "looked-at", *looking)
        running = "jsonpath={.status.ephemeralContainerStatuses[0].state.running}"
        cluster.kubectl(*IN, "wait", f"--for={running}", "pod/looked-at", "--timeout=60s")
        assert field(cluster, "pod/looked-at", "{.spec.ephemeralContainers[*].name}") == "look"
        cluster.kubectl(*IN, "delete", "pod", "looked-at", "--now")


def test_a_set_of_manifests_remembers_its_members(cluster: RealCluster) -> None:
    """``--applyset``: members are found again by a label, and former members are deleted."""
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
