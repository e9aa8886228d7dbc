"""Nodes on other machines: joining, what kubectl reaches there, and the rights of their identities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support.certificate_requests import KUBELET_CLIENT, KUBELET_SERVING, manifest, request_pem
from tests.support.clusters import shell_pod
from tests.support.images import Tree, configuration, docker_archive
from tests.support.joined_nodes import JoinedMachine, advertised_url, cluster_on, curl, join_arguments, joined
from tests.support.machines import MachineCluster, Machines, machines, missing

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(
        bool(missing() or missing_for_containers()), reason=missing() or missing_for_containers()
    ),
]
OTHERS = ("machine-2", "machine-3")
CLIENT_USAGES, SERVING_USAGES = ["digital signature", "client auth"], ["digital signature", "server auth"]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(3, tmp_path_factory.mktemp("joined")) as built:
        yield built


@pytest.fixture(scope="module")
def cluster(three: Machines) -> Iterator[MachineCluster]:
    with cluster_on(three[0], "oci") as running:
        yield running


@pytest.fixture(scope="module")
def nodes(cluster: MachineCluster, three: Machines) -> Iterator[list[JoinedMachine]]:
    with joined(cluster, "oci", three[1], three[2]) as found:
        yield found


def pod_on(cluster: MachineCluster, name: str, node: str, script: str) -> None:
    manifest = shell_pod(name, script)
    manifest["spec"]["nodeName"] = node
    cluster.apply(manifest)
    cluster.wait_ready(name)


def test_joined_nodes_are_ready_with_their_own_address(
    cluster: MachineCluster, nodes: list[JoinedMachine]
) -> None:
    for node in nodes:
        found = cluster.get("node", node.name)
        addresses = {each["type"]: each["address"] for each in found["status"]["addresses"]}
        assert addresses == {"InternalIP": str(node.machine.address), "Hostname": node.name}
        assert found["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] == 10250
        ready = [each for each in found["status"]["conditions"] if each["type"] == "Ready"]
        assert [each["status"] for each in ready] == ["True"]


@pytest.mark.parametrize("node", OTHERS)
def test_kubectl_reaches_the_pods_of_every_node(
    cluster: MachineCluster, nodes: list[JoinedMachine], node: str
) -> None:
    pod = f"reached-{node}"
    serve = "mkdir -p /www && echo served >/www/index.html && exec busybox httpd -f -p 8080 -h /www"
    pod_on(cluster, pod, node, f"echo hello from $HOSTNAME; {serve}")
    assert cluster.kubectl("logs", pod) == f"hello from {pod}\n"
    assert cluster.kubectl("exec", pod, "--", "cat", "/www/index.html") == "served\n"
    assert cluster.kubectl("exec", "-i", pod, "--", "cat", stdin="through\n") == "through\n"
    script = (
        f"kubectl --kubeconfig {cluster.kubeconfig} port-forward pod/{pod} 18080:8080 >/dev/null & "
        "for i in $(seq 50); do curl --silent --fail http://127.0.0.1:18080/ && break; sleep 0.1; done; "
        "kill $!"
    )
    assert cluster.machine.run("bash", "-c", script) == "served\n"
    found = cluster.get("pod", pod)["status"]
    assert found["hostIP"] == str(next(each.machine.address for each in nodes if each.name == node))
    figures = cluster.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/metrics")
    assert "kubelet_running_pods" in figures
    summary = cluster.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/stats/summary")
    assert pod in summary
    cluster.kubectl("delete", "pod", pod, "--now")


def test_kubeconfig_for_others_reaches_the_cluster(
    cluster: MachineCluster, nodes: list[JoinedMachine], tmp_path: Path
) -> None:
    path = nodes[0].machine.directory / "kubeconfig"
    path.write_text(cluster.podling("kubeconfig", "--advertised").out)
    found = nodes[0].machine.run("kubectl", "--kubeconfig", str(path), "get", "nodes", "-o", "name")
    assert found.split() == ["node/machine-1", "node/machine-2", "node/machine-3"]


def test_service_of_the_api_server_leads_to_the_advertised_address(cluster: MachineCluster) -> None:
    found = cluster.get("endpoints", "kubernetes")["subsets"]
    assert [each["ip"] for each in found[0]["addresses"]] == [str(cluster.machine.address)]


def test_status_shows_the_node(nodes: list[JoinedMachine]) -> None:
    found = nodes[0].podling("status")
    assert found.code == 0
    assert "machine-2  Ready  192.168.177.2" in found.out


def test_images_are_those_of_their_machine(cluster: MachineCluster, nodes: list[JoinedMachine]) -> None:
    archive = nodes[0].machine.directory / "image.tar"
    layer = Tree().add("only", b"content").tar()
    docker_archive(archive, "example.com/far:1", [layer], configuration([layer]))
    loaded = nodes[0].podling("image load", str(archive))
    assert loaded.code == 0, loaded.err
    assert "example.com/far:1" in nodes[0].podling("image list").out
    assert "example.com/far:1" not in nodes[1].podling("image list").out
    there = cluster.podling("image list")
    assert (there.code, "example.com/far:1" in there.out) == (0, False)


WRONG_HASH = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("token", "abc"), "--token is no token"),
        (("token", "aaaaaa.0123456789abcdef"), "the cluster knows no token aaaaaa"),
        (("secret", "0123456789abcdef"), "does not fit the secret of token"),
        (("hash", WRONG_HASH), "and not the one of --ca-hash"),
        (("name", "machine-1"), 'a node named "machine-1" exists in the cluster: delete it first'),
        (("name", "machine-2"), 'a node named "machine-2" exists in the cluster: delete it first'),
        (("url", "https://192.168.177.1:9"), "no API server answers"),
    ],
)
def test_join_is_refused_in_clear_words(
    cluster: MachineCluster, nodes: list[JoinedMachine], change: tuple[str, str], words: str
) -> None:
    url, _, token, _, ca_hash = join_arguments(cluster)
    what, value = change
    token = {"token": value, "secret": f"{token[:6]}.{value}"}.get(what, token)
    newcomer = JoinedMachine(nodes[0].machine, "sim")
    newcomer.directory = nodes[0].machine.directory / f"refused-{what}-{value[:9].replace('/', '')}"
    done = newcomer.try_join(
        value if what == "url" else url,
        *("--token", token, "--ca-hash", value if what == "hash" else ca_hash),
        *("--node-name", value if what == "name" else "newcomer"),
    )
    assert done.code == 1
    assert words in done.err
    assert not (newcomer.directory / "node.json").exists()


def test_deleted_and_expired_tokens_are_refused(cluster: MachineCluster, nodes: list[JoinedMachine]) -> None:
    newcomer = JoinedMachine(nodes[0].machine, "sim")
    newcomer.directory = nodes[0].machine.directory / "late"
    deleted, expired = join_arguments(cluster), join_arguments(cluster, "--ttl", "2s")
    assert "deleted" in cluster.podling("token delete", deleted[2]).out
    cluster.kubectl(
        "wait",
        "--for=delete",
        "-n",
        "kube-system",
        f"secret/bootstrap-token-{expired[2][:6]}",
        "--timeout=20s",
    )
    for arguments in (deleted, expired):
        done = newcomer.try_join(*arguments, "--node-name", "late")
        assert done.code == 1
        assert "it has expired or was deleted; make a new one" in done.err
        bearer = ("--oauth2-bearer", arguments[2])
        authority = nodes[0].directory / "pki" / "ca.crt"
        assert curl(newcomer.machine, f"{arguments[0]}/api", authority, *bearer)[0] == 401


def test_stolen_token_takes_no_node_over(cluster: MachineCluster, nodes: list[JoinedMachine]) -> None:
    """The token's own requests: for the name of a node, for a server, for secrets, for another token."""
    arguments = join_arguments(cluster)
    url, token, authority = arguments[0], arguments[2], nodes[0].directory / "pki" / "ca.crt"

    def code(path: str, method: str = "GET", body: object = None) -> int:
        bearer = ("--oauth2-bearer", token)
        return curl(nodes[0].machine, url + path, authority, *bearer, method=method, body=body)[0]

    requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    for name, node, usages, signer, names in (
        ("stolen-client", "machine-1", CLIENT_USAGES, KUBELET_CLIENT, ()),
        ("stolen-server", "machine-1", SERVING_USAGES, KUBELET_SERVING, ("ip:192.168.177.1",)),
    ):
        pem = request_pem(f"system:node:{node}", ["system:nodes"], names)
        assert code(requests, "POST", manifest(name, pem, usages, signer)) == 201
    cluster.kubectl("wait", "--for=condition=Denied", "csr/stolen-client", "--timeout=10s")
    assert (
        "status" not in cluster.get("csr", "stolen-server")
        or not cluster.get("csr", "stolen-server")["status"]
    )
    for path in (
        "/api/v1/secrets",
        "/api/v1/namespaces/kube-system/secrets",
        "/api/v1/pods",
        "/api/v1/nodes",
    ):
        assert code(path) == 403
    assert code("/api/v1/namespaces/kube-system/secrets", "POST", {"metadata": {"name": "x"}}) == 403
    cluster.kubectl("delete", "csr", "stolen-client", "stolen-server")


def test_node_has_the_rights_of_its_own_identity_only(
    cluster: MachineCluster, nodes: list[JoinedMachine]
) -> None:
    node, url = nodes[0], advertised_url(cluster)
    for path, method, expected in (
        ("/api/v1/nodes/machine-2", "GET", 200),
        ("/api/v1/nodes/machine-3", "GET", 403),
        ("/api/v1/nodes/machine-2", "DELETE", 403),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Dmachine-2", "GET", 200),
        ("/api/v1/pods", "GET", 200),  # NetworkPolicies choose among the pods of all nodes
        ("/api/v1/namespaces/default/pods", "DELETE", 403),
        ("/api/v1/secrets", "GET", 403),
        ("/api/v1/namespaces/default/secrets/other", "GET", 403),
        ("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/machine-2", "GET", 200),
        ("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/machine-3", "GET", 403),
    ):
        assert (path, node.request(url + path, method)[0]) == (path, expected)
    pem = request_pem("system:node:machine-3", ["system:nodes"])
    body = manifest("x", pem, CLIENT_USAGES, KUBELET_CLIENT)
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    assert node.request(url + path, "POST", body)[0] == 403
    patch = {"metadata": {"labels": {"node-restriction.kubernetes.io/x": "1"}}}
    mine = node.request(f"{url}/api/v1/nodes/machine-2")[1]
    mine["metadata"]["labels"].update(patch["metadata"]["labels"])
    assert node.request(f"{url}/api/v1/nodes/machine-2", "PUT", mine)[0] == 403


def test_kubelet_serves_clients_with_rights_alone(
    cluster: MachineCluster, nodes: list[JoinedMachine]
) -> None:
    """Its certificate is good for its address; other nodes, false tokens and strangers are refused."""
    one, other = nodes
    url = f"https://{other.machine.address}:10250/pods"
    assert one.request(url)[0] == 403
    authority = one.directory / "pki" / "ca.crt"
    assert curl(one.machine, url, authority)[0] == 401
    assert curl(one.machine, url, authority, "--oauth2-bearer", f"{cluster.token}x")[0] == 401
    assert curl(one.machine, url, authority, "--oauth2-bearer", cluster.token)[0] == 200
    pki = cluster.directory / "pki"
    pair = ("--cert", f"{pki / 'admin.crt'}", "--key", f"{pki / 'admin.key'}")
    assert curl(one.machine, url, authority, *pair)[0] == 200


def test_without_the_option_nodes_cannot_join(tmp_path: Path, three: Machines) -> None:
    alone = MachineCluster(three[2], "sim")
    alone.directory = three[2].directory / "alone"
    try:
        alone.up()
        done = alone.podling("token create", "--join")
        assert done.code == 1
        assert "start it with --advertise-address IP" in done.err
        port = alone.podling("kubeconfig").out.partition("https://127.0.0.1:")[2].split()[0]
        assert curl(three[1], f"https://{three[2].address}:{port}/healthz", tmp_path, "--insecure")[0] == 0
    finally:
        alone.down()
