"""Objects that the others refer to, and access for users of several roles."""

from __future__ import annotations

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario.settling import wait_until_started

ROLES = ("admin", "edit", "view", "cluster-admin")
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def prepare(recorder: Recorder) -> None:
    """Create what a cluster's controllers would have created, and bind users to roles."""
    wait_until_started(recorder)
    recorder.group("preparation")
    for name in ("recorded", "other"):
        body: Json = {"metadata": {"name": name}}
        recorder.send(f"namespace {name}", "POST", "/api/v1/namespaces", body)
    for namespace in ("default", "recorded", "other", "kube-system"):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        recorder.send(f"service account in {namespace}", "POST", path, {"metadata": {"name": "default"}})
    for role in ROLES:
        body = {
            "metadata": {"name": f"recorded-{role}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": role}],
        }
        recorder.send(f"binding of {role}", "POST", f"{RBAC}/clusterrolebindings", body)
    body = {"metadata": {"name": "high"}, "value": 1000}
    recorder.send("priority class", "POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    recorder.send("node", "POST", "/api/v1/nodes", {"metadata": {"name": "n0"}})
