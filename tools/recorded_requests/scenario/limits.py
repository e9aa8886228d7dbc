"""Limits: bodies that are too large, requests over their share, quotas, ranges, budgets."""

from __future__ import annotations

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario.kinds import Kind
from tools.recorded_requests.scenario.settling import wait_until_settled

CONFIG_MAPS = "/api/v1/namespaces/recorded/configmaps"
PODS = "/api/v1/namespaces/recorded/pods"
FLOWCONTROL = "flowcontrol.apiserver.k8s.io/v1"
MEGABYTE = 1024 * 1024


def send_all(recorder: Recorder) -> None:
    """Reach each limit."""
    recorder.group("limits")
    _send_large(recorder)
    _fill_quota(recorder)
    _evict(recorder)
    _exceed_share(recorder)
    _revisions(recorder)
    _namespaces(recorder)


def _send_large(recorder: Recorder) -> None:
    for size in (MEGABYTE - 1000, MEGABYTE + 1000, 4 * MEGABYTE):
        body: Json = {"metadata": {"name": "large"}, "data": {"a": "x" * size}}
        recorder.send(f"config map of {size}", "POST", CONFIG_MAPS, body, query={"dryRun": "All"})
    for depth in (100, 20_000):
        recorder.send(f"depth {depth}", "POST", CONFIG_MAPS, '{"a":' * depth)
    operations = [{"op": "add", "path": "/metadata/labels", "value": {}}] * 10_001
    headers = {"Content-Type": "application/json-patch+json"}
    recorder.send("many operations", "PATCH", f"{CONFIG_MAPS}/missing", operations, headers=headers)
    annotations = {"metadata": {"name": "a", "annotations": {"a": "x" * 300_000}}}
    recorder.send("large annotations", "POST", CONFIG_MAPS, annotations)
    recorder.send("long path", "GET", f"{CONFIG_MAPS}/{'x' * 7000}")
    recorder.send("long query", "GET", CONFIG_MAPS, query={"labelSelector": "a" * 7000})
    recorder.send("large header", "GET", CONFIG_MAPS, headers={"X-Large": "x" * 20_000})


def _pod(name: str, **more: object) -> Json:
    return {
        "metadata": {"name": name, "labels": {"app": "limited"}},
        "spec": {"containers": [{"name": "a", "image": "x"}], **more},
    }


def _fill_quota(recorder: Recorder) -> None:
    quotas = "/api/v1/namespaces/recorded/resourcequotas"
    spec: Json = {"hard": {"pods": "1", "configmaps": "1", "services.nodeports": "0", "requests.cpu": "1"}}
    recorder.send("quota", "POST", quotas, {"metadata": {"name": "small"}, "spec": spec})
    recorder.send("quota, read", "GET", f"{quotas}/small")
    usage = {
        "hard": spec["hard"],
        "used": {"pods": "0", "configmaps": "1", "services.nodeports": "0", "requests.cpu": "0"},
    }
    status = {"metadata": {"name": "small"}, "status": usage}
    recorder.send("quota, used", "PUT", f"{quotas}/small/status", status)
    recorder.send("pod without requests", "POST", PODS, _pod("limited"))
    recorder.send("config map over quota", "POST", CONFIG_MAPS, {"metadata": {"name": "b"}})
    service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    recorder.send("node port over quota", "POST", "/api/v1/namespaces/recorded/services", service)
    recorder.send("quota, again", "GET", f"{quotas}/small")
    recorder.send("quota, deleted", "DELETE", f"{quotas}/small")
    ranges = "/api/v1/namespaces/recorded/limitranges"
    limits = [
        {"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "500m"}},
        {"type": "Pod", "max": {"cpu": "1"}},
    ]
    recorder.send("range", "POST", ranges, {"metadata": {"name": "small"}, "spec": {"limits": limits}})
    recorder.send("pod with defaults", "POST", PODS, _pod("limited"), query={"dryRun": "All"})
    large = {"containers": [{"name": "a", "image": "x", "resources": {"limits": {"cpu": "2"}}}]}
    recorder.send("pod over range", "POST", PODS, {"metadata": {"name": "limited"}, "spec": large})
    recorder.send("range, deleted", "DELETE", f"{ranges}/small")


def _evict(recorder: Recorder) -> None:
    recorder.send("pod", "POST", PODS, _pod("limited", nodeName="n0"))
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    recorder.send("pod runs", "PATCH", f"{PODS}/limited/status", running, headers=headers)
    budgets = "/apis/policy/v1/namespaces/recorded/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "limited"}}}
    recorder.send("budget", "POST", budgets, {"metadata": {"name": "all"}, "spec": spec})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "limited"}}
    recorder.send("eviction without budget's status", "POST", f"{PODS}/limited/eviction", eviction)
    recorder.send("second budget", "POST", budgets, {"metadata": {"name": "more"}, "spec": spec})
    recorder.send("eviction with two budgets", "POST", f"{PODS}/limited/eviction", eviction)
    for name in ("all", "more"):
        recorder.send(f"budget {name}, deleted", "DELETE", f"{budgets}/{name}")
    recorder.send("eviction, dry run", "POST", f"{PODS}/limited/eviction", eviction, query={"dryRun": "All"})
    recorder.send("eviction", "POST", f"{PODS}/limited/eviction", eviction)
    recorder.send("pod after eviction", "GET", f"{PODS}/limited")
    recorder.send("pod, deleted", "DELETE", f"{PODS}/limited", {"gracePeriodSeconds": 0})


def _exceed_share(recorder: Recorder) -> None:
    """Give a user a priority level without seats: its requests are refused."""
    level = {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}},
    }
    path = f"/apis/{FLOWCONTROL}"
    recorder.send(
        "level",
        "POST",
        f"{path}/prioritylevelconfigurations",
        {"metadata": {"name": "closed"}, "spec": level},
    )
    rules = [{
        "subjects": [{"kind": "User", "user": {"name": "view"}}],
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}],
    }]  # fmt: skip
    flow = {"matchingPrecedence": 1, "priorityLevelConfiguration": {"name": "closed"}, "rules": rules}
    recorder.send("flow", "POST", f"{path}/flowschemas", {"metadata": {"name": "closed"}, "spec": flow})
    wait_until_settled(recorder, Kind(FLOWCONTROL, "flowschemas", "FlowSchema", False, ()), "closed")
    recorder.send("request over its share", "GET", CONFIG_MAPS, headers={"Impersonate-User": "view"})
    for resource in ("flowschemas", "prioritylevelconfigurations"):
        recorder.send(f"{resource}, deleted", "DELETE", f"{path}/{resource}/closed")


def _revisions(recorder: Recorder) -> None:
    future = {"resourceVersion": "999999999"}
    recorder.send("get of the future", "GET", "/api/v1/namespaces/default", query=future)
    recorder.send("list of the future", "GET", CONFIG_MAPS, query=future)
    recorder.send(
        "exact list of the future", "GET", CONFIG_MAPS, query={**future, "resourceVersionMatch": "Exact"}
    )
    recorder.send(
        "watch of the future", "GET", CONFIG_MAPS, query={**future, "watch": "true", "timeoutSeconds": 1}
    )


def _namespaces(recorder: Recorder) -> None:
    path = "/api/v1/namespaces/other"
    for protected in ("default", "kube-system", "kube-public"):
        recorder.send(f"{protected}, deleted", "DELETE", f"/api/v1/namespaces/{protected}")
    recorder.send("namespace, deleted", "DELETE", path)
    recorder.send("namespace that ends", "GET", path)
    recorder.send(
        "object in a namespace that ends", "POST", f"{path}/configmaps", {"metadata": {"name": "a"}}
    )
    ending = {"metadata": {"name": "other"}, "spec": {"finalizers": []}}
    recorder.send("namespace, finalized", "PUT", f"{path}/finalize", ending)
    recorder.send("namespace that is gone", "GET", path)
