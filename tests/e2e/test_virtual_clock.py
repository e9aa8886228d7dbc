"""A cluster of ``podling up --clock virtual``, as kubectl and other clients over HTTPS see it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import DEADLINE, RealCluster

pytestmark = pytest.mark.e2e

CLOCK = "/podling/clock"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    running = RealCluster(tmp_path_factory.mktemp("virtual"), "sim", "--port", "0", "--clock", "virtual")
    try:
        running.up()
        yield running
    finally:
        running.remove()


def state(cluster: RealCluster) -> dict[str, Any]:
    code, found, _ = cluster.request("GET", CLOCK)
    assert code == 200
    return found


def now(cluster: RealCluster) -> datetime:
    return datetime.fromisoformat(state(cluster)["now"])


def wind(cluster: RealCluster, action: str, **body: Any) -> tuple[int, dict[str, Any]]:
    code, found, _ = cluster.request("POST", f"{CLOCK}/{action}", json.dumps(body).encode())
    return code, found


def clock(cluster: RealCluster, *arguments: str) -> str:
    done = cluster.podling(f"clock {arguments[0]}", *arguments[1:])
    assert done.code == 0, done.err
    return done.out


def test_time_stands_still_between_commands(cluster: RealCluster) -> None:
    before = now(cluster)
    cluster.kubectl("get", "nodes")
    assert now(cluster) == before
    assert state(cluster)["mode"] == "paused"


def lease(cluster: RealCluster) -> tuple[int, datetime]:
    """Return the revision of the node's lease, and the time of its renewal."""
    found = json.loads(cluster.kubectl("get", "lease", "-n", "kube-node-lease", "-o", "json"))["items"][0]
    renewed = datetime.fromisoformat(found["spec"]["renewTime"])
    return int(found["metadata"]["resourceVersion"]), renewed


def test_cron_job_runs_its_day_in_one_command(cluster: RealCluster) -> None:
    began = now(cluster)
    half_past = began.replace(minute=30, second=0, microsecond=0)
    to_half_past = (half_past - began).total_seconds() % 3600  # far from the moments at which jobs run
    clock(cluster, "advance", f"{to_half_past:.0f}s")
    life = json.dumps({"runs": [{"seconds": 30}]})
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app"}]}
    template = {"metadata": {"annotations": {"sim.podling.dev/main": life}}, "spec": pod}
    cluster.apply(
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "hourly"},
            "spec": {
                "schedule": "7 * * * *",
                "successfulJobsHistoryLimit": 100,
                "jobTemplate": {"spec": {"template": template}},
            },
        }
    )
    clock(cluster, "advance", "6h")
    jobs = cluster.get("jobs")["items"]
    assert [job["status"]["succeeded"] for job in jobs] == [1] * 6
    assert {job["status"]["startTime"][-6:] for job in jobs} == {"07:00Z"}
    cluster.kubectl("delete", "cronjob", "hourly", f"--timeout={DEADLINE}")


def test_run_until_stops_at_the_moment_of_the_condition(cluster: RealCluster) -> None:
    life = json.dumps({"runs": [{"seconds": 600}]})
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app"}]}
    metadata = {"name": "long", "annotations": {"sim.podling.dev/main": life}}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod})
    began = now(cluster)
    clock(cluster, "run-until", "pod/long", "jsonpath={.status.phase}=Succeeded", "--at-most", "1h")
    passed = now(cluster) - began
    assert timedelta(seconds=600) <= passed <= timedelta(seconds=660)
    late = cluster.podling("clock run-until", "pod/long", "condition=Ready", "--at-most", "30s")
    assert late.code == 1
    assert "did not come true" in late.err
    assert now(cluster) - began == passed + timedelta(seconds=30)


def test_speed_and_pause(cluster: RealCluster) -> None:
    assert "running at 600x" in clock(cluster, "speed", "600x")
    before = now(cluster)
    while now(cluster) - before < timedelta(seconds=60):
        cluster.kubectl("get", "nodes")
    assert "paused" in clock(cluster, "pause")
    before = now(cluster)
    assert now(cluster) == before


def test_clients_see_the_time_of_the_cluster(cluster: RealCluster) -> None:
    """Date headers, tokens, leases and ages agree."""
    clock(cluster, "advance", "3h")
    wound = now(cluster)
    shown = cluster.try_kubectl("get", "--raw", "/version", "-v=8").err
    assert wound.strftime("Date: %a, %d %b %Y %H:%M:%S GMT") in shown
    token = cluster.kubectl("create", "token", "default", "--duration=1h").strip()
    assert is_valid(cluster, token)
    lease = cluster.get("leases", "-n", "kube-node-lease")["items"][0]
    assert wound - datetime.fromisoformat(lease["spec"]["renewTime"]) < timedelta(seconds=20)
    (node,) = cluster.kubectl("get", "nodes", "--no-headers").splitlines()
    created = cluster.get("nodes")["items"][0]["metadata"]["creationTimestamp"]
    hours = (wound - datetime.fromisoformat(created)) // timedelta(hours=1)
    assert hours >= 9
    assert node.split()[3].startswith(f"{hours}h")
    clock(cluster, "advance", "2h")
    assert not is_valid(cluster, token)


def is_valid(cluster: RealCluster, token: str) -> bool:
    kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    body = json.dumps({**kind, "spec": {"token": token}}).encode()
    code, found, _ = cluster.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
    assert code == 201
    return bool(found["status"].get("authenticated"))


def test_watch_ends_by_the_time_of_the_cluster(cluster: RealCluster) -> None:
    path = "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=600"
    command = cluster.kubectl_command("get", "--raw", path)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout
        assert json.loads(watching.stdout.readline())["type"] == "ADDED"
        clock(cluster, "advance", "9m")
        assert watching.poll() is None
        clock(cluster, "advance", "2m")
        assert watching.wait(60) == 0


def test_only_administrators_wind_the_clock(cluster: RealCluster) -> None:
    account = "--as=system:serviceaccount:default:default"
    for verb in ("get", "post"):
        assert cluster.try_kubectl("auth", "can-i", verb, CLOCK, account).out == "no\n"
    refused = cluster.try_kubectl("get", "--raw", CLOCK, account)
    assert "forbidden" in refused.err


@pytest.mark.parametrize(
    ("action", "body", "message"),
    [
        ("advance", {"seconds": -1}, "time cannot go back"),
        ("advance", {}, "missing required field `seconds`"),
        ("advance", {"seconds": 1, "minutes": 1}, "unknown field `minutes`"),
        ("speed", {"speed": -2}, "the speed must be between"),
        ("run-until", {"condition": "pod"}, "does not name an object"),
        ("run-until", {"condition": "nothing/a create"}, "the server doesn't have a resource type"),
        ("advance", {"seconds": 1, "settleSeconds": -1}, "settleSeconds must be 0 or more"),
    ],
)
def test_wrong_requests_are_refused(
    cluster: RealCluster, action: str, body: dict[str, Any], message: str
) -> None:
    before = now(cluster)
    code, found = wind(cluster, action, **body)
    assert code == 400
    assert message in found["message"].replace("Object ", "").replace("Object", "")
    assert now(cluster) == before


def test_unknown_action_and_method(cluster: RealCluster) -> None:
    assert wind(cluster, "rewind")[0] == 404
    assert cluster.request("GET", f"{CLOCK}/advance")[0] == 405


def test_kind_of_clock_stays_with_the_directory(cluster: RealCluster, tmp_path: Path) -> None:
    other = RealCluster(tmp_path, "sim", "--port", "0")
    refused = other.podling("up", "--runtime", "process", "--clock", "virtual", "--port", "0")
    assert "--clock virtual needs --runtime sim" in refused.err
    refused = cluster.podling("up", "--clock", "machine")
    assert "has a virtual clock" in refused.err


def test_idle_hours_take_a_fraction_of_the_rounds(cluster: RealCluster) -> None:
    """The lease is renewed at the begin and the end of leaps, and not each ten seconds."""
    clock(cluster, "advance", "1m")
    before, _ = lease(cluster)
    clock(cluster, "advance", "4h")
    after, renewed = lease(cluster)
    assert after - before < 4 * 60 * 3
    assert timedelta() <= now(cluster) - renewed <= timedelta(seconds=10)
