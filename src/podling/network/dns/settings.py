"""The settings of cluster DNS: the ConfigMap ``kube-system/kube-dns``, and the node's ``resolv.conf``. Pure.

The ConfigMap has the form of kube-dns: ``stubDomains`` (JSON, a domain and its servers) and
``upstreamNameservers`` (JSON, at most three servers in place of the node's own). ``hosts`` is the text that
CoreDNS' plugin of that name takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any

import msgspec
from msgspec import Struct

from podling.network.dns.answers import Labels, is_below, labels_of
from podling.network.dns.hosts import Hosts, is_name

DNS_PORT = 53
UPSTREAMS_MAX = 3
"""kube-dns' limit of ``upstreamNameservers``."""


class Server(Struct, frozen=True, array_like=True):
    """The address and port of another DNS server."""

    ip: str
    port: int = DNS_PORT

    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if ":" in self.ip else f"{self.ip}:{self.port}"


class Settings(Struct, frozen=True):
    """The content of the ConfigMap; ``upstreams`` is empty if the node's own servers are to be used."""

    stub_domains: dict[str, tuple[Server, ...]] = {}
    upstreams: tuple[Server, ...] = ()
    hosts: str = ""


def settings_of(data: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """Return the settings in a ConfigMap's data, and what is wrong with it, which is left out."""
    problems: list[str] = []
    stubs: dict[str, tuple[Server, ...]] = {}
    for domain, texts in _json(data, "stubDomains", dict[str, list[str]], problems).items():
        if not is_name(labels_of(domain)):
            problems.append(f'stubDomains: "{domain}" is no domain')
            continue
        if servers := _servers("stubDomains", texts, problems):
            stubs[".".join(labels_of(domain))] = servers
    upstreams = _servers(
        "upstreamNameservers", _json(data, "upstreamNameservers", list[str], problems), problems
    )
    if len(upstreams) > UPSTREAMS_MAX:
        problems.append(f"upstreamNameservers: only the first {UPSTREAMS_MAX} are used")
    hosts = data.get("hosts", "")
    problems += Hosts(hosts).problems
    return Settings(stubs, upstreams[:UPSTREAMS_MAX], hosts), problems


def _json(data: Mapping[str, str], key: str, kind: Any, problems: list[str]) -> Any:
    text = data.get(key, "").strip()
    if text:
        try:
            return msgspec.json.decode(text, type=kind)
        except (msgspec.MsgspecError, UnicodeEncodeError) as error:
            problems.append(f"{key}: {error}")
    return kind()


def _servers(key: str, texts: Iterable[str], problems: list[str]) -> tuple[Server, ...]:
    found = []
    for text in texts:
        server = server_from(text)
        if server is None:
            problems.append(f'{key}: "{text}" is no address of a server')
        else:
            found.append(server)
    return tuple(dict.fromkeys(found))


def server_from(text: str) -> Server | None:
    """Return the server that a text names: ``1.2.3.4``, ``1.2.3.4:53``, ``fd00::1``, ``[fd00::1]:53``."""
    host, port = text.strip(), str(DNS_PORT)
    if host.startswith("["):
        host, _, rest = host[1:].partition("]")
        port = rest.removeprefix(":") or port
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    try:
        server = Server(str(ip_address(host)), int(port))
    except ValueError:
        return None
    return server if 0 < server.port < 65536 else None


def servers_in(resolv_conf: str) -> tuple[Server, ...]:
    """Return the name servers in the text of a ``resolv.conf``."""
    rows = (line.split() for line in resolv_conf.splitlines())
    found = (server_from(row[1]) for row in rows if len(row) > 1 and row[0] == "nameserver")
    return tuple(dict.fromkeys(server for server in found if server is not None))


def stub_for(labels: Labels, stubs: Iterable[str]) -> str:
    """Return the longest of these domains that a name is in; empty if it is in none."""
    found = [domain for domain in stubs if is_below(labels, labels_of(domain))]
    return max(found, key=len, default="")


def usable(servers: Iterable[Server], own: Iterable[Server]) -> tuple[Server, ...]:
    """Return ``servers`` without our own, to which questions must not be forwarded."""
    ours = set(own)
    return tuple(server for server in servers if server not in ours)
