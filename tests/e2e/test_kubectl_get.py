"""``kubectl get`` in every output, with every selector, and with ``--watch``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import RealCluster, shell_pod

pytestmark = pytest.mark.e2e

SPACE = "shown"
IN = ("-n", SPACE)
COLOURS = {"rose": "red", "sky": "blue", "grass": "green"}


@pytest.fixture(scope="module")
def cluster(sim_cluster: RealCluster) -> Iterator[RealCluster]:
    """Three config maps, a pod and a deployment of two, all at rest."""
    sim_cluster.kubectl("create", "namespace", SPACE)
    items: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": SPACE, "labels": {"colour": colour, "set": "maps"}},
            "data": {"letters": str(len(name))},
        }
        for name, colour in COLOURS.items()
    ]
    pod = shell_pod("single", "true")
    pod["metadata"] |= {"namespace": SPACE, "labels": {"tier": "7"}}
    sim_cluster.apply({"apiVersion": "v1", "kind": "List", "items": [*items, pod]})
    sim_cluster.kubectl(*IN, "create", "deployment", "web", "--image=web:1", "--replicas=2")
    sim_cluster.kubectl(*IN, "rollout", "status", "deployment/web", "--timeout=60s")
    sim_cluster.wait_ready("single", *IN)
    yield sim_cluster
    sim_cluster.kubectl("delete", "namespace", SPACE)


@pytest.fixture(scope="module")
def get(cluster: RealCluster) -> Callable[..., str]:
    return lambda *arguments: cluster.kubectl("get", *IN, *arguments)


def names(text: str) -> list[str]:
    """Return the first column, without a header."""
    return [line.split()[0] for line in text.splitlines()]


Get = Callable[..., str]


class TestTables:
    def test_table_of_one_kind(self, get: Get) -> None:
        header, *rows = get("configmaps").splitlines()
        assert header.split() == ["NAME", "DATA", "AGE"]
        assert [row.split()[:2] for row in rows] == [
            ["grass", "1"], ["kube-root-ca.crt", "1"], ["rose", "1"], ["sky", "1"]
        ]  # fmt: skip

    def test_wide_table_has_more_columns(self, get: Get) -> None:
        header, row = get("deployment", "web", "-o", "wide").splitlines()
        assert header.split()[5:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
        assert row.split()[1:4] + row.split()[5:] == ["2/2", "2", "2", "web", "web:1", "app=web"]
        header, row = get("pod", "single", "-o", "wide").splitlines()
        assert header.split()[5:] == ["IP", "NODE", "NOMINATED", "NODE", "READINESS", "GATES"]
        assert row.split()[-2:] == ["<none>", "<none>"]

    def test_several_kinds_and_their_prefixes(self, get: Get) -> None:
        text = get("configmap/sky", "deployment/web")
        first, second = text.strip().split("\n\n")
        assert names(first) == ["NAME", "configmap/sky"]
        assert names(second) == ["NAME", "deployment.apps/web"]
        assert names(get("configmap,deployment", "--no-headers", "-l", "colour=red")) == ["configmap/rose"]
        assert names(get("deployments", "--show-kind", "--no-headers")) == ["deployment.apps/web"]
        kinds = {each.partition("/")[0] for each in get("all", "-o", "name").split()}
        assert kinds == {"pod", "deployment.apps", "replicaset.apps"}

    def test_labels_as_columns(self, get: Get) -> None:
        header, row = get("configmaps", "sky", "--show-labels", "-L", "colour,none").splitlines()
        assert header.split() == ["NAME", "DATA", "AGE", "COLOUR", "NONE", "LABELS"]
        assert row.split()[3:] == ["blue", "colour=blue,set=maps"]

    def test_rows_are_sorted_by_path(self, get: Get) -> None:
        chosen = ("configmaps", "-l", "set=maps", "--no-headers")
        assert names(get(*chosen, "--sort-by=.metadata.labels.colour")) == ["sky", "grass", "rose"]
        assert names(get(*chosen, "--sort-by={.data.letters}")) == ["sky", "rose", "grass"]

    def test_list_in_chunks_is_shown_whole(self, cluster: RealCluster, get: Get) -> None:
        """The client requests chunks and shows the whole list."""
        asked = cluster.try_kubectl("get", *IN, "configmaps", "--chunk-size=1", "-v=6")
        assert asked.err.count("continue=") == len(COLOURS)
        assert names(asked.out)[1:] == names(get("configmaps", "--no-headers"))
        assert get("configmaps", "--chunk-size=0", "-o", "name").count("configmap/") == 4

    def test_missing_objects_are_reported(self, cluster: RealCluster) -> None:
        done = cluster.try_kubectl("get", *IN, "secrets")
        assert (done.code, done.err) == (0, f"No resources found in {SPACE} namespace.\n")
        done = cluster.try_kubectl("get", *IN, "configmap", "none")
        assert (done.code, done.err) == (1, 'Error from server (NotFound): configmaps "none" not found\n')
        assert cluster.kubectl("get", *IN, "configmap", "none", "--ignore-not-found") == ""
        done = cluster.try_kubectl("get", "gizmos")
        assert done.err == 'error: the server doesn\'t have a resource type "gizmos"\n'


class TestPrinters:
    def test_json_and_yaml(self, get: Get) -> None:
        found = json.loads(get("configmap", "sky", "-o", "json"))
        assert (found["kind"], found["data"]) == ("ConfigMap", {"letters": "3"})
        assert "managedFields" not in found["metadata"]
        shown = json.loads(get("configmap", "sky", "-o", "json", "--show-managed-fields"))
        (owner,) = shown["metadata"]["managedFields"]
        assert owner["manager"] == "kubectl-client-side-apply"
        listed = json.loads(get("configmaps", "-l", "set=maps", "-o", "json"))
        assert (listed["kind"], len(listed["items"])) == ("List", 3)
        assert 'data:\n  letters: "3"\n' in get("configmap", "sky", "-o", "yaml")

    def test_output_by_json_path(self, get: Get, tmp_path: Path) -> None:
        template = "{range .items[*]}{.metadata.name}={.data.letters};{end}"
        expected = "grass=5;rose=4;sky=3;"
        chosen = ("configmaps", "-l", "set=maps", "-o")
        assert get(*chosen, f"jsonpath={template}") == expected
        (tmp_path / "template").write_text(template)
        assert get(*chosen, f"jsonpath-file={tmp_path / 'template'}") == expected
        as_json = json.loads(get(*chosen, "jsonpath-as-json={.items[*].data}"))
        assert as_json == [{"letters": "5"}, {"letters": "4"}, {"letters": "3"}]

    def test_output_by_go_template(self, get: Get, tmp_path: Path) -> None:
        template = '{{range .items}}{{.metadata.name}}{{"\\n"}}{{end}}'
        chosen = ("configmaps", "-l", "set=maps", "-o")
        assert get(*chosen, f"go-template={template}").split() == ["grass", "rose", "sky"]
        assert get(*chosen, "template", f"--template={template}").split() == ["grass", "rose", "sky"]
        (tmp_path / "template").write_text(template)
        assert get(*chosen, f"go-template-file={tmp_path / 'template'}").split() == ["grass", "rose", "sky"]

    def test_output_in_custom_columns(self, get: Get, tmp_path: Path) -> None:
        chosen = ("configmaps", "-l", "set=maps", "-o")
        text = get(*chosen, "custom-columns=MAP:.metadata.name,N:.data.letters,X:.data.none")
        assert [line.split() for line in text.splitlines()] == [
            ["MAP", "N", "X"], ["grass", "5", "<none>"], ["rose", "4", "<none>"], ["sky", "3", "<none>"]
        ]  # fmt: skip
        (tmp_path / "columns").write_text("MAP           N\n.metadata.name .data.letters\n")
        text = get(*chosen, f"custom-columns-file={tmp_path / 'columns'}")
        assert text.splitlines()[1].split() == ["grass", "5"]

    def test_output_of_names_only(self, get: Get) -> None:
        assert get("deploy,cm", "-o", "name", "--field-selector=metadata.name=web") == "deployment.apps/web\n"

    def test_subresources_are_shown(self, get: Get) -> None:
        header, row = get("deployment", "web", "--subresource=scale").splitlines()
        assert header.split() == ["NAME", "DESIRED", "AVAILABLE", "AGE"]
        assert row.split()[:3] == ["web", "2", "2"]
        scale = json.loads(get("deployment", "web", "--subresource=scale", "-o", "json"))
        assert (scale["kind"], scale["status"]) == ("Scale", {"replicas": 2, "selector": "app=web"})
        header, row = get("deployment", "web", "--subresource=status").splitlines()
        assert row.split()[:2] == ["web", "2/2"]
        assert get("pod", "single", "--subresource=resize", "-o", "jsonpath={.kind}") == "Pod"

    def test_raw_paths_are_read(self, cluster: RealCluster) -> None:
        assert cluster.kubectl("get", "--raw", "/readyz") == "ok"
        found = json.loads(cluster.kubectl("get", "--raw", f"/api/v1/namespaces/{SPACE}/configmaps?limit=1"))
        assert len(found["items"]) == 1
        assert found["metadata"]["remainingItemCount"] == 3

    def test_events_by_their_columns(self, get: Get, cluster: RealCluster) -> None:
        header, *rows = get("events", "--field-selector=reason=Scheduled").splitlines()
        assert header.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
        assert len(rows) == 3
        text = cluster.kubectl("events", *IN, "--types=Normal", "--for=pod/single")
        assert "Successfully assigned shown/single to" in text


class TestSelectors:
    @pytest.mark.parametrize(
        ("selector", "found"),
        [
            ("colour=red", ["rose"]),
            ("colour==red", ["rose"]),
            ("colour!=red,set=maps", ["grass", "sky"]),
            ("colour in (red,blue)", ["rose", "sky"]),
            ("colour notin (red,blue),colour", ["grass"]),
            ("set", ["grass", "rose", "sky"]),
            ("!set", ["kube-root-ca.crt"]),
            ("set=maps,colour notin (red),colour!=green", ["sky"]),
        ],
    )
    def test_labels_select_objects(self, get: Get, selector: str, found: list[str]) -> None:
        assert names(get("configmaps", "--no-headers", "-l", selector)) == found

    def test_numeric_comparison_selects_objects(self, get: Get) -> None:
        assert names(get("pods", "--no-headers", "-l", "tier>6,tier<8")) == ["single"]

    @pytest.mark.parametrize(
        ("kind", "selector", "found"),
        [
            ("pods", "metadata.name=single,status.phase=Running,spec.restartPolicy=Always", 1),
            ("pods", "status.phase!=Running", 0),
            ("pods", "spec.nodeName=nowhere", 0),
            ("pods", "spec.serviceAccountName=default", 3),
            ("events", "involvedObject.kind=Pod,involvedObject.name=single,reason=Scheduled,type=Normal", 1),
            ("replicasets", "status.replicas=2", 1),
            ("namespaces", "metadata.name=shown,status.phase=Active", 1),
            ("nodes", "spec.unschedulable=false", 1),
            ("jobs", "status.successful=1", 0),
            ("secrets", "type=Opaque", 0),
            ("configmaps", "metadata.namespace=shown,metadata.name!=sky", 3),
        ],
    )
    def test_fields_select_objects(self, get: Get, kind: str, selector: str, found: int) -> None:
        assert len(get(kind, "--field-selector", selector, "-o", "name").split()) == found

    def test_unsupported_selectors_are_refused(self, cluster: RealCluster) -> None:
        refused = cluster.try_kubectl("get", "configmaps", "--field-selector=data.letters=3")
        assert '"data.letters" is not a known field selector' in refused.err
        refused = cluster.try_kubectl("get", "configmaps", "-l", "colour in")
        assert "unable to parse requirement: found '' expected: '('" in refused.err

    def test_all_namespaces_are_listed(self, cluster: RealCluster) -> None:
        header, row = cluster.kubectl("get", "deployments", "-A", "-l", "app=web").splitlines()
        assert header.split()[:2] == ["NAMESPACE", "NAME"]
        assert row.split()[:2] == [SPACE, "web"]


class TestWatches:
    def test_watch_shows_events_of_selected_objects(self, cluster: RealCluster) -> None:
        with watching(cluster, "configmaps", "-l", "colour=pink", "--output-watch-events") as line:
            cluster.kubectl(*IN, "create", "configmap", "late")
            cluster.kubectl(*IN, "label", "configmap", "late", "colour=pink")
            assert line().split() == ["EVENT", "NAME", "DATA", "AGE"]
            assert line().split()[:3] == ["ADDED", "late", "0"]
            cluster.kubectl(*IN, "patch", "configmap", "late", "-p", '{"data":{"a":"b"}}')
            assert line().split()[:3] == ["MODIFIED", "late", "1"]
            cluster.kubectl(*IN, "label", "configmap", "late", "colour-")
            assert line().split()[:3] == ["DELETED", "late", "1"]
            cluster.kubectl(*IN, "delete", "configmap", "late")

    def test_watch_shows_existing_object_first(self, cluster: RealCluster) -> None:
        with watching(cluster, "configmap", "sky", "-o", "jsonpath={.data.n}{'.\\n'}") as line:
            assert line() == ".\n"
            cluster.kubectl(*IN, "patch", "configmap", "sky", "-p", '{"data":{"n":"1"}}')
            assert line() == "1.\n"
        cluster.kubectl(*IN, "patch", "configmap", "sky", "--type=merge", "-p", '{"data":{"n":null}}')

    def test_watch_only_omits_existing_objects(self, cluster: RealCluster) -> None:
        chosen = ("pods", "--field-selector=metadata.name=new")
        with watching(cluster, *chosen, "--watch-only", "-o", "wide", "--no-headers") as line:
            cluster.kubectl(*IN, "run", "new", "--image=web:1", "--restart=Never")
            states = [line().split()[2]]
            while states[-1] != "Running":
                states.append(line().split()[2])
            assert states[0] == "Pending"
            cluster.kubectl(*IN, "delete", "pod", "new", "--grace-period=1")
            assert line().split()[2] == "Terminating"


@contextmanager
def watching(cluster: RealCluster, *arguments: str) -> Iterator[Callable[[], str]]:
    """``kubectl get --watch`` in the background, once the server has answered it.

    Yields a function that waits for the next line that kubectl prints.
    """
    watch = () if "--watch-only" in arguments else ("--watch",)
    command = cluster.kubectl_command("get", *IN, *watch, "--request-timeout=60s", "-v=6", *arguments)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        assert process.stderr
        try:
            assert any("watch=true" in line and "200 OK" in line for line in process.stderr)
            yield process.stdout.readline
        finally:
            process.kill()
