"""Client libraries that people use from Python: ``kubernetes``, ``kr8s``, ``lightkube``.

Pods run on a real cluster. A cluster compacts its history only after minutes; that is tested
against a server whose history the test can cut.
"""

# The libraries take plain data where their annotations say models, and leave much of themselves unannotated.
# mypy: disable-error-code="no-untyped-call, arg-type, union-attr, call-overload, type-var"

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kr8s
import kubernetes
import lightkube
import pytest
from kr8s.objects import ConfigMap as Kr8sConfigMap
from kr8s.objects import Deployment as Kr8sDeployment
from kr8s.objects import Pod as Kr8sPod
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes.stream import stream
from lightkube.core.exceptions import ApiError as LightkubeError
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment as LightDeployment
from lightkube.resources.core_v1 import ConfigMap as LightConfigMap
from lightkube.resources.core_v1 import Pod as LightPod
from lightkube.types import PatchType, on_error_retry

from podling.machinery.encoding import codec
from tests.support.clusters import RealCluster, namespace, shell_pod
from tests.support.custom_resources import definition
from tests.support.served import ServedCluster

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    # The libraries leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning"),
]

SPACE = "libraries"
SERVE = "echo started; trap 'exit 0' TERM; while true; do sleep 0.1; done"
SECONDS = 30


@pytest.fixture(scope="module", autouse=True)
def space(cluster: RealCluster) -> Iterator[None]:
    """A namespace of this file's own."""
    with namespace(cluster, SPACE):
        yield


@pytest.fixture(autouse=True)
def close_left_connections() -> Iterator[None]:
    """Close connections that a library left open here, not during a later test."""
    yield
    gc.collect()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedCluster]:
    with ServedCluster(tmp_path) as running:
        yield running


def connected(kubeconfig: Path) -> kubernetes.client.ApiClient:
    """Return a client of the ``kubernetes`` package and make it the default."""
    kubernetes.config.load_kube_config(str(kubeconfig))
    return kubernetes.client.ApiClient()


@pytest.fixture
def api(cluster: RealCluster) -> Iterator[kubernetes.client.ApiClient]:
    with connected(cluster.kubeconfig) as client:
        yield client


def config_map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": SPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(name: str) -> dict[str, Any]:
    template = shell_pod("", SERVE)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": template["spec"]},
        },
    }


class TestKubernetes:
    """The official package."""

    def test_a_pod_from_creation_to_its_end(self, api: kubernetes.client.ApiClient) -> None:
        core = kubernetes.client.CoreV1Api(api)
        core.create_namespaced_pod(SPACE, shell_pod("official", SERVE))
        watch, phases = kubernetes.watch.Watch(), []
        fields = "metadata.name=official"
        for event in watch.stream(core.list_namespaced_pod, SPACE, field_selector=fields):
            phases.append(event["object"].status.phase)
            if event["object"].status.phase == "Running":
                watch.stop()
        assert phases[-1] == "Running"
        said = stream(
            core.connect_get_namespaced_pod_exec, "official", SPACE, command=["echo", "hi"], stdout=True
        )
        assert said == "hi\n"
        assert core.read_namespaced_pod_log("official", SPACE) == "started\n"
        core.patch_namespaced_pod("official", SPACE, {"metadata": {"labels": {"a": "b"}}})
        assert [pod.metadata.name for pod in core.list_namespaced_pod(SPACE, label_selector="a=b").items] == [
            "official"
        ]
        core.delete_namespaced_pod("official", SPACE, grace_period_seconds=0)
        with pytest.raises(kubernetes.client.ApiException) as missing:
            core.read_namespaced_pod("official", SPACE)
        assert (missing.value.status, missing.value.reason) == (404, "Not Found")

    def test_yaml_is_created_as_it_is(self, api: kubernetes.client.ApiClient) -> None:
        made = kubernetes.utils.create_from_dict(
            api, {"apiVersion": "v1", "kind": "List", "items": [config_map("one"), config_map("two")]}
        )
        assert [each.metadata.name for each in made] == ["one", "two"]
        with pytest.raises(kubernetes.utils.FailToCreateError, match="already exists"):
            kubernetes.utils.create_from_dict(api, config_map("one"))

    def test_the_dynamic_client(self, api: kubernetes.client.ApiClient) -> None:
        dynamic = DynamicClient(api)
        maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
        made = maps.create(body=config_map("dynamic", a="1"), namespace=SPACE)
        assert made.data.to_dict() == {"a": "1"}
        made = maps.patch(
            body={"data": {"b": "2"}},
            name="dynamic",
            namespace=SPACE,
            content_type="application/merge-patch+json",
        )
        stale = config_map("dynamic", c="3")
        stale["metadata"]["resourceVersion"] = "1"
        with pytest.raises(ConflictError):
            maps.replace(body=stale, namespace=SPACE)
        apply = {"body": config_map("dynamic", a="9"), "namespace": SPACE, "field_manager": "me"}
        with pytest.raises(ConflictError, match="Apply failed with 1 conflict"):
            maps.server_side_apply(**apply)
        forced = maps.server_side_apply(**apply, force_conflicts=True)
        assert forced.data.to_dict() == {"a": "9", "b": "2"}
        seen = []
        for event in maps.watch(namespace=SPACE, name="dynamic", timeout=SECONDS):
            seen.append(event["type"])
            if event["type"] == "DELETED":
                break
            maps.delete(name="dynamic", namespace=SPACE)
        assert seen == ["ADDED", "DELETED"]
        with pytest.raises(NotFoundError):
            maps.get(name="dynamic", namespace=SPACE)
        kinds = {each.kind for each in dynamic.resources.search(group="apps")}
        assert {"Deployment", "StatefulSet", "DeploymentList"} <= kinds

    @pytest.mark.parametrize("lock", [LeaseLock, ConfigMapLock])
    def test_leader_election_passes_the_lease_on(
        self, api: kubernetes.client.ApiClient, lock: type[Any]
    ) -> None:
        """The first candidate leads until its work fails; then the second takes over."""
        leads = {name: threading.Event() for name in ("first", "second")}
        fail, finished = threading.Event(), threading.Event()

        def work(name: str) -> None:
            leads[name].set()
            (fail if name == "first" else finished).wait(SECONDS)
            raise RuntimeError("the work is over")

        def candidate(name: str) -> threading.Thread:
            config = electionconfig.Config(
                lock(f"lock-{lock.__name__.lower()}", SPACE, name),
                lease_duration=3,
                renew_deadline=2,
                retry_period=1,
                onstarted_leading=lambda: work(name),
                onstopped_leading=lambda: None,
            )
            thread = threading.Thread(target=leaderelection.LeaderElection(config).run)
            thread.start()
            return thread

        first = candidate("first")
        assert leads["first"].wait(SECONDS)
        second = candidate("second")
        assert not leads["second"].wait(1.5)
        fail.set()
        first.join(SECONDS)
        assert leads["second"].wait(SECONDS)
        finished.set()
        second.join(SECONDS)
        assert [first.is_alive(), second.is_alive()] == [False, False]

    def test_a_watch_that_comes_too_late_lists_again(self, served: ServedCluster) -> None:
        core = kubernetes.client.CoreV1Api(connected(served.kubeconfig))
        make = {"metadata": {"name": "first"}}
        since = core.create_namespaced_config_map("default", make).metadata.resource_version
        core.create_namespaced_config_map("default", {"metadata": {"name": "missed"}})
        oldest = served.compact()
        with pytest.raises(kubernetes.client.ApiException) as gone:
            next(
                kubernetes.watch.Watch().stream(
                    core.list_namespaced_config_map, "default", resource_version=since
                )
            )
        assert gone.value.status == 410
        assert gone.value.reason == f"Expired: too old resource version: {since} ({oldest})"
        listed = core.list_namespaced_config_map("default")
        assert {"first", "missed"} <= {each.metadata.name for each in listed.items}
        core.create_namespaced_config_map("default", {"metadata": {"name": "seen"}})
        again = kubernetes.watch.Watch().stream(
            core.list_namespaced_config_map, "default", resource_version=listed.metadata.resource_version
        )
        assert next(again)["object"].metadata.name == "seen"

    def test_a_watch_goes_on_where_it_broke_until_that_is_forgotten(self, served: ServedCluster) -> None:
        core = kubernetes.client.CoreV1Api(connected(served.kubeconfig))

        def create(name: str) -> None:
            core.create_namespaced_config_map("default", {"metadata": {"name": name}})

        listed = core.list_namespaced_config_map("default").metadata.resource_version
        stream = kubernetes.watch.Watch().stream(
            core.list_namespaced_config_map, "default", resource_version=listed
        )
        create("one")
        assert next(stream)["object"].metadata.name == "one"
        served.go_silent()
        served.listen()
        create("two")
        create("three")
        assert [next(stream)["object"].metadata.name for _ in range(2)] == ["two", "three"]
        served.go_silent()
        served.listen()
        create("four")
        served.compact()
        with pytest.raises(kubernetes.client.ApiException, match="too old resource version") as gone:
            next(stream)
        assert gone.value.status == 410

    def test_the_dynamic_client_learns_of_a_custom_kind(self, served: ServedCluster) -> None:
        dynamic = DynamicClient(connected(served.kubeconfig))
        definitions = dynamic.resources.get(kind="CustomResourceDefinition")
        definitions.create(body=codec.to_plain(definition(version={"subresources": {"status": {}}})))
        for event in definitions.watch(name="widgets.example.com", timeout=SECONDS):
            conditions = (event["object"].status or {}).get("conditions") or []
            if any(each.type == "Established" and each.status == "True" for each in conditions):
                break
        widgets = dynamic.resources.get(api_version="example.com/v1", kind="Widget")
        head = {"apiVersion": "example.com/v1", "kind": "Widget"}
        made = widgets.create(body={**head, "metadata": {"name": "w"}, "spec": {"a": 1}}, namespace="default")
        since = made.metadata.resourceVersion
        merge = {"name": "w", "namespace": "default", "content_type": "application/merge-patch+json"}
        widgets.patch(body={"metadata": {"labels": {"b": "c"}}, "spec": {"a": 2}}, **merge)
        widgets.status.patch(body={"status": {"seen": True}, "spec": {"a": 9}}, **merge)
        found = widgets.get(namespace="default", label_selector="b=c").items
        assert [each.spec.to_dict() for each in found] == [{"a": 2}]
        assert found[0].status.seen is True
        intent = {"body": {**head, "metadata": {"name": "w"}, "spec": {"a": 3}}, "namespace": "default"}
        with pytest.raises(ConflictError, match=r"\.spec\.a"):
            widgets.server_side_apply(**intent, field_manager="me")
        widgets.delete(name="w", namespace="default")
        seen = []
        for event in widgets.watch(namespace="default", resource_version=since, timeout=SECONDS):
            seen.append(event["type"])
            if event["type"] == "DELETED":
                break
        assert seen == ["MODIFIED", "MODIFIED", "DELETED"]

    def test_an_informer_survives_that_its_history_is_gone(self, served: ServedCluster) -> None:
        core = kubernetes.client.CoreV1Api(connected(served.kubeconfig))
        core.create_namespaced_config_map("default", {"metadata": {"name": "before"}})
        seen, later = threading.Event(), threading.Event()
        informer = SharedInformer(core.list_namespaced_config_map, namespace="default")

        def added(obj: Any) -> None:
            {"before": seen, "later": later}.get(obj.metadata.name, threading.Event()).set()

        informer.add_event_handler("ADDED", added)
        informer.start()
        try:
            assert seen.wait(SECONDS)
            served.go_silent()
            served.compact()
            served.listen()
            core.create_namespaced_config_map("default", {"metadata": {"name": "later"}})
            served.compact()
            assert later.wait(SECONDS), "it lists again"
            assert informer.cache.get_by_key("default/before")
        finally:
            stopping = threading.Thread(target=informer.stop)
            stopping.start()
            served.go_silent()  # the library waits for its watch to end
            stopping.join(SECONDS)
        assert not stopping.is_alive()


def test_kr8s_manages_objects_and_pods(cluster: RealCluster) -> None:
    api = kr8s.api(kubeconfig=str(cluster.kubeconfig), namespace=SPACE)
    settings = Kr8sConfigMap(config_map("kr8s", a="1"), api=api)
    settings.create()
    settings.patch({"data": {"b": "2"}})
    settings.label(colour="blue")
    again = Kr8sConfigMap.get("kr8s", namespace=SPACE, api=api)
    assert (dict(again.data), dict(again.labels)) == ({"a": "1", "b": "2"}, {"colour": "blue"})
    selected = api.get("configmaps", namespace=SPACE, label_selector={"colour": "blue"})
    assert [each.name for each in selected] == ["kr8s"]
    settings.delete()
    assert not settings.exists()

    pod = Kr8sPod(shell_pod("kr8s", SERVE) | {"metadata": {"name": "kr8s", "namespace": SPACE}}, api=api)
    pod.create()
    pod.wait("condition=Ready", timeout=SECONDS)
    assert list(pod.logs()) == ["started"]
    assert pod.exec(["echo", "hi"]).stdout == b"hi\n"
    seen = []
    for kind, obj in api.watch("pods", namespace=SPACE, field_selector="metadata.name=kr8s"):
        seen.append(kind)
        if kind == "DELETED":
            break
        if kind == "ADDED":
            obj.delete()
    assert (seen[0], seen[-1]) == ("ADDED", "DELETED")

    web = Kr8sDeployment(deployment("kr8s"), api=api)
    web.create()
    web.scale(2)
    web.wait("condition=Available", timeout=SECONDS)
    assert len(web.pods()) == 2
    web.delete()


def test_lightkube_manages_objects_and_pods(cluster: RealCluster) -> None:
    config = lightkube.KubeConfig.from_file(cluster.kubeconfig)
    with lightkube.Client(config=config, namespace=SPACE, field_manager="lightkube") as client:
        made = client.create(LightConfigMap(metadata=ObjectMeta(name="light"), data={"a": "1"}))
        assert made.metadata
        with pytest.raises(LightkubeError, match=r'configmaps "light" already exists'):
            client.create(LightConfigMap(metadata=ObjectMeta(name="light")))
        changed = client.patch(LightConfigMap, "light", {"data": {"b": "2"}}, patch_type=PatchType.MERGE)
        assert changed.data == {"a": "1", "b": "2"}
        applied = client.apply(LightConfigMap(metadata=ObjectMeta(name="light"), data={"a": "1"}))
        assert applied.data == {"a": "1", "b": "2"}
        assert applied.metadata
        assert {(each.manager, each.operation) for each in applied.metadata.managedFields or ()} == {
            ("lightkube", "Apply"),
            ("lightkube", "Update"),
        }
        seen = []
        for kind, each in client.watch(LightConfigMap, fields={"metadata.name": "light"}):
            seen.append(kind)
            if kind == "DELETED":
                break
            client.delete(LightConfigMap, each.metadata.name)
        assert seen == ["ADDED", "DELETED"]

        pod = shell_pod("light", SERVE) | {"metadata": {"name": "light", "labels": {"app": "light"}}}
        client.create(LightPod.from_dict(pod))
        ready = client.wait(LightPod, "light", for_conditions=["Ready"])
        assert ready.status
        assert ready.status.phase == "Running"
        assert list(client.log("light")) == ["started\n"]
        assert [each.metadata.name for each in client.list(LightPod, labels={"app": "light"})] == ["light"]
        client.delete(LightPod, "light", grace_period=0)

        client.create(LightDeployment.from_dict(deployment("light")))
        client.wait(LightDeployment, "light", for_conditions=["Available"])
        client.patch(LightDeployment.Scale, "light", {"spec": {"replicas": 0}})
        assert not client.get(LightDeployment.Scale, "light").spec.replicas, "0 is left out, as in Kubernetes"
        client.delete(LightDeployment, "light")


def test_kr8s_goes_on_from_a_revision(served: ServedCluster) -> None:
    api = kr8s.api(kubeconfig=str(served.kubeconfig))
    labels = {"metadata": {"labels": {"mine": "yes"}}}
    made = [Kr8sConfigMap({"metadata": {"name": name}} | {"data": {}}, api=api) for name in ("a", "b")]
    for each in made:
        each.create()
    since = made[0].metadata.resourceVersion
    made[0].patch(labels)
    made[1].patch(labels)
    made[0].patch({"metadata": {"labels": {"mine": None}}})
    seen = []
    for kind, obj in api.watch("configmaps", namespace="default", label_selector="mine", since=since):
        seen.append((kind, obj.name))
        if kind == "DELETED":
            break
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


def test_lightkube_begins_again_when_its_history_is_gone(served: ServedCluster) -> None:
    config = lightkube.KubeConfig.from_file(served.kubeconfig)
    with lightkube.Client(config=config, field_manager="lightkube") as client:
        first = client.create(LightConfigMap(metadata=ObjectMeta(name="first", namespace="default")))
        assert first.metadata
        client.create(LightConfigMap(metadata=ObjectMeta(name="missed", namespace="default")))
        served.compact()
        watch = client.watch(
            LightConfigMap,
            namespace="default",
            resource_version=first.metadata.resourceVersion,
            on_error=on_error_retry,
        )
        assert {next(watch)[1].metadata.name for _ in range(2)} == {"first", "missed"}
