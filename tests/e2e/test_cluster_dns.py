"""Names inside of real pods, for glibc (``getent``) and busybox (``nslookup``), and through failures."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.cluster.directory import DataDirectory
from podling.files.locks import arguments_of, is_alive
from podling.network.names import Names
from tests.e2e.conftest import missing_for_containers
from tests.support import document_images
from tests.support.clusters import RealCluster, running_cluster, shell_pod
from tests.support.dns_messages import both_sockets, question, read, reply

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

BUSYBOX = "docker.io/library/busybox:1.28"
DOMAIN = "default.svc.cluster.local"
TRIES = 100

FLOOD = """
import contextlib, socket, sys
questions = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
questions.connect((sys.argv[1], 53))
questions.setblocking(False)
while True:
    with contextlib.suppress(OSError):
        questions.send(bytes.fromhex(sys.argv[2]))
"""
RESOLVE = """
import socket, sys
for number in range(int(sys.argv[1])):
    for last in (False,) * 4 + (True,):
        try:
            socket.getaddrinfo("web", 80, socket.AF_INET, socket.SOCK_STREAM)
            break
        except socket.gaierror as error:
            if last or error.errno != socket.EAI_AGAIN:
                raise
"""
"""A pod with too little of a busy processor may lose a packet, which no limit of questions prevents."""


def service(name: str, **spec: Any) -> dict[str, Any]:
    spec = {"ports": [{"name": "http", "port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def stateful_set(name: str, replicas: int) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": shell_pod("x", "sleep 10000", image=BUSYBOX)["spec"],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "serviceName": name,
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }


@pytest.fixture(scope="module")
def dns_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """A cluster of the module's own, whose DNS process and node process are killed."""
    if reason := missing_for_containers():
        pytest.skip(reason)
    with running_cluster(tmp_path_factory.mktemp("names"), "oci") as running:
        document_images.load(running, tmp_path_factory.mktemp("images"), BUSYBOX)
        for manifest in (
            service("web"),
            service("db", clusterIP="None", selector={"app": "db"}),
            service("outside", type="ExternalName", externalName="far.example"),
            service("alias", type="ExternalName", externalName=f"web.{DOMAIN}"),
            stateful_set("db", 2),
            shell_pod("glibc", "sleep 10000"),
            shell_pod("busybox", "sleep 10000", image=BUSYBOX),
            shell_pod("node-network", "sleep 10000", hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"),
        ):
            running.apply(manifest)
        for pod in ("glibc", "busybox", "node-network", "db-0", "db-1"):
            wait_ready(running, pod)
        yield running


def wait_ready(cluster: RealCluster, pod: str) -> None:
    cluster.kubectl("wait", "--for=create", f"pod/{pod}", "--timeout=60s")
    cluster.wait_ready(pod)


def look_up(cluster: RealCluster, name: str, pod: str = "glibc") -> str:
    """Return what the resolver of the C library says: the address and the names."""
    return " ".join(cluster.kubectl("exec", pod, "--", "getent", "hosts", name).split())


def nslookup(cluster: RealCluster, *arguments: str) -> str:
    return cluster.kubectl("exec", "busybox", "--", "nslookup", *arguments)


def address(cluster: RealCluster, kind: str, name: str) -> str:
    found = cluster.get(kind, name)
    return str(found["spec"]["clusterIP"] if kind == "service" else found["status"]["podIP"])


@pytest.mark.parametrize("name", ["web", "web.default", "web.default.svc", f"web.{DOMAIN}", f"web.{DOMAIN}."])
def test_every_form_of_a_services_name_resolves(dns_cluster: RealCluster, name: str) -> None:
    ip = address(dns_cluster, "service", "web")
    assert look_up(dns_cluster, name).split() == [ip, f"web.{DOMAIN}"]
    assert look_up(dns_cluster, name, "node-network").split()[0] == ip, "also for a pod of the node's network"


def test_busybox_resolves_names_and_ports(dns_cluster: RealCluster) -> None:
    ip = address(dns_cluster, "service", "web")
    found = nslookup(dns_cluster, f"web.{DOMAIN}")
    assert f"Name:\tweb.{DOMAIN}" in found
    assert f"Address: {ip}" in found
    found = nslookup(dns_cluster, "-type=srv", f"_http._tcp.db.{DOMAIN}")
    assert f"_http._tcp.db.{DOMAIN}\tservice = 0 50 80 db-0.db.{DOMAIN}" in found
    found = nslookup(dns_cluster, "-type=txt", "dns-version.cluster.local")
    assert '"1.1.0"' in found
    assert "NXDOMAIN" in dns_cluster.try_kubectl("exec", "busybox", "--", "nslookup", f"no.{DOMAIN}").out


def test_pods_of_a_stateful_set_have_names(dns_cluster: RealCluster) -> None:
    for pod in ("db-0", "db-1"):
        ip = address(dns_cluster, "pod", pod)
        assert look_up(dns_cluster, f"{pod}.db").split() == [ip, f"{pod}.db.{DOMAIN}"]
        assert look_up(dns_cluster, ip).split() == [ip, f"{pod}.db.{DOMAIN}"], "and their addresses names"
        dashed = ip.replace(".", "-")
        assert look_up(dns_cluster, f"{dashed}.default.pod.cluster.local").split()[0] == ip
    every = dns_cluster.kubectl("exec", "glibc", "--", "getent", "ahostsv4", "db").split()
    assert {address(dns_cluster, "pod", pod) for pod in ("db-0", "db-1")} <= set(every)
    ip = address(dns_cluster, "service", "web")
    assert look_up(dns_cluster, ip).split() == [ip, f"web.{DOMAIN}"]


def test_pod_that_is_gone_loses_its_name(dns_cluster: RealCluster) -> None:
    dns_cluster.kubectl("scale", "statefulset", "db", "--replicas=1")
    dns_cluster.kubectl("wait", "--for=delete", "pod/db-1", "--timeout=60s")
    assert dns_cluster.try_kubectl("exec", "glibc", "--", "getent", "hosts", "db-1.db").code == 2
    dns_cluster.kubectl("scale", "statefulset", "db", "--replicas=2")
    wait_ready(dns_cluster, "db-1")
    assert look_up(dns_cluster, "db-1.db").split()[0] == address(dns_cluster, "pod", "db-1")


def test_external_name_within_the_cluster_leads_to_the_service(dns_cluster: RealCluster) -> None:
    ip = address(dns_cluster, "service", "web")
    assert look_up(dns_cluster, "alias").split()[:2] == [ip, f"web.{DOMAIN}"]


def test_pods_files_name_the_server(dns_cluster: RealCluster) -> None:
    text = dns_cluster.kubectl("exec", "glibc", "--", "cat", "/etc/resolv.conf").splitlines()
    assert text[0].startswith(f"search {DOMAIN} svc.cluster.local cluster.local")
    assert text[1:] == ["nameserver 10.96.0.10", "options ndots:5"]
    events = dns_cluster.get("events")["items"]
    assert not [event for event in events if event["reason"] == "MissingClusterDNS"]


def test_kubectl_finds_the_server(dns_cluster: RealCluster) -> None:
    shown = dns_cluster.kubectl("cluster-info")
    assert "CoreDNS is running at https://" in shown.replace("\x1b[0m", "").replace("\x1b[32m", "")
    assert "/api/v1/namespaces/kube-system/services/kube-dns:dns/proxy" in shown
    service = json.loads(dns_cluster.kubectl("get", "service", "kube-dns", "-n", "kube-system", "-o", "json"))
    (node,) = json.loads(dns_cluster.kubectl("get", "nodes", "-o", "json"))["items"]
    made = [each["metadata"]["creationTimestamp"] for each in (service, node)]
    assert made == sorted(made), "it is there before the first node, so no Ready cluster is without it"


def test_figures_are_served_to_pods(dns_cluster: RealCluster) -> None:
    look_up(dns_cluster, "web")
    page = dns_cluster.kubectl(
        "exec", "busybox", "--", "wget", "-qO-", "http://kube-dns.kube-system:9153/metrics"
    )
    assert 'coredns_dns_requests_total{family="1",proto="udp",server="dns://:53",type="A"' in page


def dropped(cluster: RealCluster) -> float:
    """Return how many questions beyond the limit of one client were dropped."""
    server = json.loads(cluster.kubectl("get", "service", "kube-dns", "-n", "kube-system", "-o", "json"))
    url = f"http://{server['spec']['clusterIP']}:9153/metrics"
    page = cluster.kubectl("exec", "busybox", "--", "wget", "-qO-", url)
    name = 'podling_dns_dropped_packets_total{reason="flood"} '
    return sum(float(line.removeprefix(name)) for line in page.splitlines() if line.startswith(name))


def wait_for_more_dropped(cluster: RealCluster, before: float) -> float:
    """Wait until more questions than ``before`` were dropped; return how many."""
    deadline = clock.monotonic() + 120
    while (found := dropped(cluster)) <= before:
        assert clock.monotonic() < deadline, "the flood is not cut off"
    return found


def test_flood_of_one_pod_leaves_the_others_their_answers(dns_cluster: RealCluster) -> None:
    """The kernel drops what the flooding pod sends beyond its limit; the names of another pod resolve.

    ``unit/network/dns/test_question_limits.py`` shows that a flood leaves space for others.
    """
    dns_cluster.apply(shell_pod("flooder", "sleep 10000"))
    wait_ready(dns_cluster, "flooder")
    server = json.loads(dns_cluster.kubectl("get", "service", "kube-dns", "-n", "kube-system", "-o", "json"))
    command = ["exec", "flooder", "--", "python3", "-c", FLOOD]
    command += [server["spec"]["clusterIP"], question(f"web.{DOMAIN}").hex()]
    flooding = subprocess.Popen(dns_cluster.kubectl_command(*command), stdout=subprocess.DEVNULL)
    try:
        before = wait_for_more_dropped(dns_cluster, 0)
        dns_cluster.kubectl("exec", "glibc", "--", "python3", "-c", RESOLVE, str(TRIES), timeout=200)
        wait_for_more_dropped(dns_cluster, before)
        assert flooding.poll() is None, "the flood went on all the time"
    finally:
        flooding.kill()
        flooding.wait()
        dns_cluster.kubectl("delete", "pod", "flooder", "--grace-period=0", "--force")


@contextmanager
def upstream(*zone: str) -> Iterator[int]:
    """Play another DNS server on a port of the node's loopback address."""
    datagrams, listener = both_sockets()
    datagrams.setblocking(True)
    port: int = datagrams.getsockname()[1]

    def serve() -> None:
        while True:
            data, source = datagrams.recvfrom(4096)
            if data == b"end":
                return
            name = str(read(data).q.qname)
            records = [each for each in zone if each.startswith(f"{name} ")]
            datagrams.sendto(reply(data, *records, rcode=0 if records else 3), source)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield port
    finally:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.sendto(b"end", ("127.0.0.1", port))
        thread.join()
        datagrams.close()
        listener.close()


def configure(cluster: RealCluster, **data: str) -> None:
    metadata = {"name": "kube-dns", "namespace": "kube-system"}
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def eventually(cluster: RealCluster, name: str, ip: str) -> None:
    """Wait until a name has an address: a setting arrives a moment after the request that changed it."""
    deadline = clock.monotonic() + 60
    while True:
        found = cluster.try_kubectl("exec", "glibc", "--", "getent", "ahostsv4", name).out.split()
        if ip in found:
            return
        assert clock.monotonic() < deadline, f"{name} has {found}"


def test_map_names_servers_and_hosts(dns_cluster: RealCluster) -> None:
    with (
        upstream("far.example. 60 IN A 192.0.2.1", "www.example. 60 IN A 192.0.2.2") as usual,
        upstream("db.acme.local. 60 IN A 192.0.2.3") as stub,
    ):
        configure(
            dns_cluster,
            upstreamNameservers=json.dumps([f"127.0.0.1:{usual}"]),
            stubDomains=json.dumps({"acme.local": [f"127.0.0.1:{stub}"]}),
            hosts="192.0.2.4 printer.office\n",
        )
        for name, ip in (
            ("www.example", "192.0.2.2"),
            ("db.acme.local", "192.0.2.3"),
            ("printer.office", "192.0.2.4"),
            ("outside", "192.0.2.1"),
        ):
            eventually(dns_cluster, name, ip)
        assert look_up(dns_cluster, "outside").split()[:2] == ["192.0.2.1", "far.example"]
        configure(dns_cluster, hosts="192.0.2.5 printer.office\n")
        eventually(dns_cluster, "printer.office", "192.0.2.5")
    dns_cluster.kubectl("delete", "configmap", "-n", "kube-system", "kube-dns")


def dns_process(cluster: RealCluster) -> int:
    """Return the DNS process of the cluster's node."""
    directory = f"/run/podling/{DataDirectory(cluster.directory).id}-0.dns"
    every = {int(entry.name): arguments_of(int(entry.name)) for entry in Path("/proc").glob("[0-9]*")}
    module = "podling.network.dns.server_process"
    (pid,) = [pid for pid, found in every.items() if module in found and directory in found[-1]]
    return pid


LOOP = f"""
for n in $(seq {TRIES}); do getent hosts web >/dev/null || echo failed; sleep 0.1; done; echo done
"""


def test_names_resolve_while_processes_are_killed(dns_cluster: RealCluster) -> None:
    """Ten seconds of questions in a pod, one after the other: none fails."""
    dns_cluster.apply(shell_pod("loop", LOOP, restartPolicy="Never"))
    dns_cluster.wait_ready("loop")
    before = dns_process(dns_cluster)
    os.kill(before, signal.SIGKILL)
    deadline = clock.monotonic() + 60
    while is_alive(before) or not look_up(dns_cluster, "web"):
        assert clock.monotonic() < deadline
    second = dns_process(dns_cluster)
    assert second != before
    dns_cluster.kill()
    assert is_alive(second)
    dns_cluster.up()
    assert dns_process(dns_cluster) == second, "the new process of the node adopts it"
    done = ["wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/loop", "--timeout=60s"]
    dns_cluster.kubectl(*done)
    assert dns_cluster.kubectl("logs", "loop") == "done\n"


def tables() -> str:
    return subprocess.run(["nft", "list", "tables"], check=True, capture_output=True, text=True).stdout


def test_down_ends_the_process(own_cluster: RealCluster) -> None:
    own_cluster.up()
    deadline = clock.monotonic() + 60
    while "podling.dev/cluster-dns" not in own_cluster.kubectl("get", "nodes", "-o", "yaml"):
        assert clock.monotonic() < deadline
    pid = dns_process(own_cluster)
    table = f"{Names.of(f'{DataDirectory(own_cluster.directory).id}-0').table}_dns"
    while table not in tables():
        assert clock.monotonic() < deadline
    own_cluster.kill()
    assert is_alive(pid)
    assert table in tables(), "questions of pods are limited without the node's process"
    done = own_cluster.down()
    assert done.code == 0, done.err
    assert not is_alive(pid)
    assert table not in tables()
