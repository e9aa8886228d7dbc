"""Custom resources with the real kubectl: defined, explained, applied, refused, scaled, watched, deleted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters import Done, RealCluster, running_cluster

pytestmark = pytest.mark.e2e

NAME = "crontabs.stable.example.com"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """A cluster whose nodes run nothing: custom resources need no containers."""
    with running_cluster(tmp_path_factory.mktemp("custom"), "sim") as running:
        yield running


def definition() -> dict[str, Any]:
    spec = {
        "type": "object",
        "description": "What is wanted.",
        "required": ["cronSpec"],
        "x-kubernetes-validations": [
            {"rule": "self.replicas <= 5 || self.image == 'big'", "message": "too many replicas"},
            {"rule": "self.image == oldSelf.image", "message": "image is immutable"},
        ],
        "properties": {
            "cronSpec": {"type": "string", "description": "When it runs.", "pattern": r"^(\S+\s){4}\S+$"},
            "image": {"type": "string", "default": "nginx"},
            "replicas": {"type": "integer", "minimum": 1, "default": 1},
            "mode": {"type": "string", "enum": ["Fast", "Slow"]},
        },
    }
    root = {
        "type": "object",
        "description": "A table of times.",
        "properties": {
            "spec": spec,
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root},
        "selectableFields": [{"jsonPath": ".spec.image"}],
        "additionalPrinterColumns": [
            {"name": "When", "type": "string", "jsonPath": ".spec.cronSpec"},
            {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
            {"name": "Image", "type": "string", "jsonPath": ".spec.image", "priority": 1},
        ],
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "stable.example.com",
            "scope": "Namespaced",
            "names": {"plural": "crontabs", "kind": "CronTab", "shortNames": ["ct"], "categories": ["all"]},
            "versions": [version],
        },
    }


def crontab(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": name},
        "spec": {"cronSpec": "* * * * *", **spec},
    }


def send(cluster: RealCluster, verb: str, manifest: Any, *options: str) -> Done:
    return cluster.try_kubectl(*verb.split(), "-f", "-", *options, stdin=json.dumps(manifest))


@pytest.fixture(autouse=True)
def defined(cluster: RealCluster) -> Iterator[None]:
    """Create the definition for each test; delete it afterwards with all objects."""
    assert send(cluster, "apply", definition()).code == 0
    cluster.kubectl("wait", "--for=condition=Established", f"crd/{NAME}", "--timeout=20s")
    yield
    cluster.try_kubectl("delete", "crd", NAME, "--ignore-not-found", "--timeout=30s")


def test_custom_resource_is_found_under_all_its_names(cluster: RealCluster) -> None:
    listed = cluster.kubectl("api-resources", "--api-group=stable.example.com", "--no-headers")
    assert listed.split() == ["crontabs", "ct", "stable.example.com/v1", "true", "CronTab"]
    assert send(cluster, "create", crontab("a")).out == "crontab.stable.example.com/a created\n"
    for name in ("crontabs", "crontab", "ct", "CronTab", "crontabs.v1.stable.example.com"):
        assert cluster.kubectl("get", name, "-o", "name") == "crontab.stable.example.com/a\n"
    assert "crontab.stable.example.com/a" in cluster.kubectl("get", "all", "-o", "name")


def test_printer_columns_are_shown(cluster: RealCluster) -> None:
    send(cluster, "create", crontab("a", replicas=3))
    header, row = cluster.kubectl("get", "ct").splitlines()
    assert header.split() == ["NAME", "WHEN", "REPLICAS", "READY"]
    assert row.split() == ["a", "*", "*", "*", "*", "*", "3"]
    status = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    cluster.kubectl("patch", "ct", "a", "--subresource=status", "--type=merge", "-p", status)
    header, row = cluster.kubectl("get", "ct", "-o", "wide").splitlines()
    assert header.split()[-2:] == ["READY", "IMAGE"]
    assert row.split()[-2:] == ["True", "nginx"]


def test_explain_shows_the_schema(cluster: RealCluster) -> None:
    text = cluster.kubectl("explain", "crontab")
    assert "A table of times." in text
    text = cluster.kubectl("explain", "ct.spec")
    assert "cronSpec\t<string> -required-" in text
    assert "When it runs." in text


def test_recursive_explain_shows_every_field(cluster: RealCluster) -> None:
    nested = definition()
    properties = nested["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    part = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "What it is called."},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    properties["spec"]["properties"]["parts"] = {"type": "array", "description": "All of it.", "items": part}
    assert send(cluster, "apply", nested).code == 0
    text = cluster.kubectl("explain", "ct.spec.parts")
    assert "FIELD: parts <[]Object>" in text
    assert "All of it." in text
    assert "name\t<string> -required-\n    What it is called." in text
    whole = cluster.kubectl("explain", "crontab", "--recursive")
    for line in ("  spec\t<Object>", "    parts\t<[]Object>", "      labels\t<map[string]string>"):
        assert f"{line}\n" in whole
    assert "  apiVersion\t<string>\n" in whole
    for path in ("apiVersion", "metadata"):
        of_ours, of_theirs = (cluster.kubectl("explain", f"{kind}.{path}") for kind in ("ct", "cm"))
        texts = [text.partition("DESCRIPTION:")[2].strip() for text in (of_ours, of_theirs)]
        assert texts[0] == texts[1], "in the same words as of any kind"


def test_unknown_fields_are_refused_or_warned_of(cluster: RealCluster) -> None:
    refused = send(cluster, "create", crontab("a", crnSpec="typo"))
    assert 'strict decoding error: unknown field "spec.crnSpec"' in refused.err
    warned = send(cluster, "create", crontab("a", crnSpec="typo"), "--validate=warn")
    assert warned.err == 'Warning: unknown field "spec.crnSpec"\n'
    assert "crnSpec" not in cluster.kubectl("get", "ct", "a", "-o", "json")


def test_objects_that_violate_the_schema_are_refused(cluster: RealCluster) -> None:
    wrong = send(cluster, "create", crontab("a", cronSpec="x", replicas="many", mode="Odd"))
    assert wrong.code == 1
    assert wrong.err.splitlines() == [
        'The CronTab "a" is invalid: ',
        r"""* spec.cronSpec: Invalid value: "x": spec.cronSpec in body should match '^(\S+\s){4}\S+$'""",
        '* spec.mode: Unsupported value: "Odd": supported values: "Fast", "Slow"',
        '* spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
        "* .spec.replicas: Invalid value: 0: .spec.replicas accessor error: many is of the type string, "
        "expected int64",
        "* <nil>: Invalid value: null: some validation rules were not checked because the object was "
        "invalid; correct the existing errors to complete validation",
    ]


def test_validation_rules_are_evaluated(cluster: RealCluster) -> None:
    refused = send(cluster, "create", crontab("a", replicas=6))
    assert refused.err == 'The CronTab "a" is invalid: spec: Invalid value: too many replicas\n'
    send(cluster, "create", crontab("a"))
    changed = send(cluster, "apply", crontab("a", image="other"))
    assert 'The CronTab "a" is invalid: spec: Invalid value: image is immutable' in changed.err


def test_client_side_and_server_side_apply(cluster: RealCluster) -> None:
    assert send(cluster, "apply", crontab("a", mode="Fast")).out.endswith("created\n")
    assert send(cluster, "apply", crontab("a", mode="Fast")).out.endswith("unchanged\n")
    assert send(cluster, "apply", crontab("a", mode="Slow")).out.endswith("configured\n")
    assert send(cluster, "apply", crontab("a")).out.endswith("configured\n")
    assert "mode" not in json.loads(cluster.kubectl("get", "ct", "a", "-o", "json"))["spec"]
    other = send(cluster, "apply --server-side", crontab("a", cronSpec="1 * * * *"), "--field-manager=other")
    assert 'conflict with "kubectl-client-side-apply"' in other.err
    forced = send(
        cluster,
        "apply --server-side --force-conflicts",
        crontab("a", cronSpec="1 * * * *"),
        "--field-manager=other",
    )
    assert forced.out.endswith("serverside-applied\n")
    assert send(cluster, "diff", crontab("a", cronSpec="1 * * * *")).code == 0


def test_scale_subresource_and_selectable_fields(cluster: RealCluster) -> None:
    send(cluster, "create", crontab("a"))
    send(cluster, "create", crontab("b", image="big"))
    assert cluster.kubectl("scale", "ct", "a", "--replicas=4").endswith("a scaled\n")
    assert cluster.kubectl("get", "ct", "a", "-o", "jsonpath={.spec.replicas}") == "4"
    found = cluster.kubectl("get", "ct", "--field-selector=spec.image=big", "-o", "name")
    assert found == "crontab.stable.example.com/b\n"


def test_operator_writes_finalizer_status_and_event(cluster: RealCluster) -> None:
    """Play an operator: add a finalizer, write status and event, and remove the finalizer at deletion."""
    send(cluster, "create", crontab("a"))
    finalizer = '{"metadata":{"finalizers":["stable.example.com/op"],"annotations":{"op/seen":"1"}}}'
    cluster.kubectl("patch", "ct", "a", "--type=merge", "-p", finalizer)
    cluster.kubectl(
        "patch", "ct", "a", "--subresource=status", "--type=merge", "-p", '{"status":{"op":{"n":1}}}'
    )
    found = json.loads(cluster.kubectl("get", "ct", "a", "-o", "json"))
    assert (found["status"], found["metadata"]["generation"]) == ({"op": {"n": 1}}, 1)
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": "a-", "namespace": "default"},
        "involvedObject": {
            "apiVersion": "stable.example.com/v1",
            "kind": "CronTab",
            "name": "a",
            "namespace": "default",
            "uid": found["metadata"]["uid"],
        },
        "type": "Normal",
        "reason": "Logging",
        "message": "handled",
        "source": {"component": "op"},
    }
    assert send(cluster, "create", event).code == 0
    assert "handled" in cluster.kubectl("describe", "ct", "a")
    cluster.kubectl("delete", "ct", "a", "--wait=false")
    assert "deletionTimestamp" in cluster.kubectl("get", "ct", "a", "-o", "json")
    cluster.kubectl("patch", "ct", "a", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    cluster.kubectl("wait", "--for=delete", "ct/a", "--timeout=20s")


def test_deleting_the_definition_deletes_its_objects(cluster: RealCluster) -> None:
    send(cluster, "create", crontab("a"))
    assert cluster.kubectl("delete", "crd", NAME, "--timeout=30s").endswith("deleted\n")
    refused = cluster.try_kubectl("get", "--raw", "/apis/stable.example.com/v1/crontabs")
    assert "the server could not find the requested resource" in refused.err
    assert "stable.example.com" not in cluster.kubectl("api-versions")


def test_a_watch_ends_with_the_definition(cluster: RealCluster) -> None:
    send(cluster, "create", crontab("a"))
    command = cluster.kubectl_command("get", "ct", "-w", "--output-watch-events", "--no-headers", "-v=6")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr
        assert any("watch=true" in line and "200 OK" in line for line in process.stderr)
        cluster.kubectl("delete", "crd", NAME, "--timeout=30s")
        shown, _ = process.communicate(timeout=20)
    assert [line.split()[:2] for line in shown.splitlines()] == [["ADDED", "a"], ["DELETED", "a"]]
    assert process.returncode == 0
