"""Admission policies from Kubernetes' documentation, applied and enforced through kubectl."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.support.clusters import RealCluster

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")]

DEPLOYMENTS = {
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["deployments"],
}


def manifest(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    api_version = "admissionregistration.k8s.io/v1"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_a_policy_refuses_and_its_status_warns(sim_cluster: RealCluster) -> None:
    cluster, constraints = sim_cluster, {"resourceRules": [DEPLOYMENTS]}
    expression = "object.spec.replicas <= 5 || object.replicas > 1"
    cluster.apply(
        manifest(
            "ValidatingAdmissionPolicy",
            "few.example.com",
            failurePolicy="Fail",
            matchConstraints=constraints,
            validations=[{"expression": expression}],
        )
    )
    cluster.apply(
        manifest(
            "ValidatingAdmissionPolicyBinding",
            "few-binding.example.com",
            policyName="few.example.com",
            validationActions=["Deny"],
            matchResources={"namespaceSelector": {"matchLabels": {"environment": "test"}}},
        )
    )
    policy = "validatingadmissionpolicy/few.example.com"
    cluster.kubectl("create", "namespace", "tested")
    cluster.kubectl("label", "namespace", "tested", "environment=test")
    create = ("create", "deployment", "nginx", "--image=nginx", "--replicas=6", "-n")
    done = cluster.try_kubectl(*create, "tested")
    said = "ValidatingAdmissionPolicy 'few.example.com' with binding 'few-binding.example.com' denied request"
    assert f"{said}: expression '{expression}' resulted in error: no such key: replicas" in done.err
    cluster.kubectl(*create, "default", "--dry-run=server")
    cluster.kubectl("wait", "--for=jsonpath={.status.observedGeneration}=1", policy, "--timeout=10s")
    status = json.loads(cluster.kubectl("get", policy, "-o", "json"))["status"]
    (warning,) = status["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[0].expression"
    assert "apps/v1, Kind=Deployment: ERROR: <input>:1:36: undefined field 'replicas'" in warning["warning"]
    cluster.kubectl("delete", "namespace", "tested")
    cluster.kubectl("delete", policy, "validatingadmissionpolicybinding/few-binding.example.com")


def test_a_policy_adds_a_sidecar(sim_cluster: RealCluster) -> None:
    cluster = sim_cluster
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    expression = (
        "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{"
        'name: "mesh-proxy", image: "mesh/proxy:v1.0.0", args: ["proxy", "sidecar"], '
        'restartPolicy: "Always"}]}}'
    )
    policy = manifest(
        "MutatingAdmissionPolicy",
        "sidecar-policy.example.com",
        matchConstraints={"resourceRules": [rule]},
        matchConditions=[
            {
                "name": "does-not-already-have-sidecar",
                "expression": "!has(object.spec.initContainers) || "
                '!object.spec.initContainers.exists(ic, ic.name == "mesh-proxy")',
            },
            {
                "name": "chosen",
                "expression": "has(object.metadata.labels) && 'mesh' in object.metadata.labels",
            },
        ],
        failurePolicy="Fail",
        reinvocationPolicy="IfNeeded",
        mutations=[{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
    )
    done = cluster.try_kubectl("apply", "-f", "-", stdin=json.dumps(policy))
    assert done.code == 0, done.err
    cluster.apply(
        manifest("MutatingAdmissionPolicyBinding", "sidecar", policyName="sidecar-policy.example.com")
    )
    done = cluster.try_kubectl("run", "meshed", "--image=i", "--labels=mesh=yes")
    assert "may not mutate atomic arrays, maps or structs: .spec.initContainers[0].args" in done.err
    patch = expression.replace('args: ["proxy", "sidecar"], ', "")
    policy["spec"]["mutations"][0]["applyConfiguration"]["expression"] = patch
    cluster.apply(policy)
    cluster.kubectl("run", "meshed", "--image=i", "--labels=mesh=yes")
    spec = json.loads(cluster.kubectl("get", "pod", "meshed", "-o", "json"))["spec"]
    assert [each["name"] for each in spec["initContainers"]] == ["mesh-proxy"]
    assert spec["initContainers"][0]["volumeMounts"][0]["name"].startswith("kube-api-access-")
    assert "sidecar-policy.example.com" in cluster.kubectl("get", "mutatingadmissionpolicies")
    cluster.kubectl("delete", "pod", "meshed", "--now")
    cluster.kubectl(
        "delete",
        "mutatingadmissionpolicy/sidecar-policy.example.com",
        "mutatingadmissionpolicybinding/sidecar",
    )
