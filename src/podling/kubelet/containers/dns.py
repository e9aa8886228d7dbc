"""The pod's ``/etc/resolv.conf``: from its DNS policy, the cluster's DNS server and the node's own file.

Limits are those of the resolver library as Kubernetes applies them: three servers, 32 search domains,
2048 characters of them. Entries beyond a limit are left out and reported (``pkg/kubelet/network/dns``).

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from podling.api.core_v1 import Pod, PodDNSConfig
from podling.kubelet.config import KubeletConfig

NAMESERVERS_MAX = 3
SEARCHES_MAX = 32
SEARCHES_LENGTH_MAX = 2048
SEARCH_LENGTH_MAX = 253
"""Longer search domains are left out: some versions of the C library abort because of them."""
DEFAULT_OPTIONS = ("ndots:5",)
_NO_CLUSTER_DNS = (
    "kubelet does not have ClusterDNS IP configured and cannot create Pod using "
    '"ClusterFirst" policy. Falling back to "Default" policy.'
)
_CLUSTER_SEARCHES = 3


class ResolvConf(Struct, frozen=True):
    """The content of a ``resolv.conf``."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def text(self) -> str:
        lines = []
        if self.searches:
            lines.append(f"search {' '.join(self.searches)}\n")
        lines += [f"nameserver {server}\n" for server in self.nameservers]
        if self.options:
            lines.append(f"options {' '.join(self.options)}\n")
        return "".join(lines)


def parse_resolv_conf(text: str) -> ResolvConf:
    """Read a ``resolv.conf``; the last ``search`` line counts, options add up."""
    nameservers: list[str] = []
    searches: tuple[str, ...] = ()
    options: list[str] = []
    for line in text.splitlines():
        fields = line.split("#")[0].split(";")[0].split()
        if len(fields) < 2:
            continue
        if fields[0] == "nameserver":
            nameservers.append(fields[1])
        elif fields[0] == "search":
            searches = tuple(name if name == "." else name.removesuffix(".") for name in fields[1:])
        elif fields[0] == "options":
            options += fields[1:]
    return ResolvConf(tuple(nameservers), searches, tuple(dict.fromkeys(options)))


def effective_policy(pod: Pod) -> str:
    """Return the DNS policy in force: on the host's network ``ClusterFirst`` means the host's resolver."""
    policy = pod.spec.dns_policy or "ClusterFirst"
    if policy == "ClusterFirst" and pod.spec.host_network:
        return "Default"
    return "ClusterFirst" if policy == "ClusterFirstWithHostNet" else policy


class Resolution(Struct, frozen=True):
    """A pod's resolver configuration, and the warning events about it as (reason, message)."""

    conf: ResolvConf
    warnings: tuple[tuple[str, str], ...] = ()


def pod_resolution(pod: Pod, node: ResolvConf, config: KubeletConfig) -> Resolution:
    """Return the name resolution of ``pod``: servers, search domains and options."""
    policy = effective_policy(pod)
    warnings: list[tuple[str, str]] = []
    if policy == "ClusterFirst" and not config.cluster_dns:
        about = f'pod: "{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})".'
        warnings.append(("MissingClusterDNS", f"{about} {_NO_CLUSTER_DNS}"))
        policy = "Default"
    if policy == "None":
        conf = ResolvConf()
    elif policy == "ClusterFirst":
        namespace, domain = pod.metadata.namespace, config.cluster_domain
        own = (f"{namespace}.svc.{domain}", f"svc.{domain}", domain) if domain else ()
        conf = ResolvConf(config.cluster_dns, _unique((*own, *node.searches)), DEFAULT_OPTIONS)
    elif config.resolv_conf is None:
        conf = replace(node, nameservers=_loopback(config.node_addresses), searches=(".",))
    else:
        conf = node
    if pod.spec.dns_config is not None:
        conf = _with_config(conf, pod.spec.dns_config)
    conf, cut = _within_limits(conf)
    warnings += [("DNSConfigForming", text) for text in cut]
    return Resolution(conf, tuple(warnings))


def _loopback(node_addresses: Iterable[str]) -> tuple[str, ...]:
    """Return the servers that disable look-ups: what the C library takes where none is stated."""
    found = ("::1" if ":" in address else "127.0.0.1" for address in node_addresses)
    return _unique(found) or ("127.0.0.1",)


def _with_config(conf: ResolvConf, own: PodDNSConfig) -> ResolvConf:
    options = {option.partition(":")[0]: option for option in conf.options}
    for option in own.options:
        name = option.name or ""
        options[name] = f"{name}:{option.value}" if option.value else name
    return ResolvConf(
        _unique((*conf.nameservers, *own.nameservers)),
        _unique((*conf.searches, *own.searches)),
        tuple(options.values()),
    )


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _within_limits(conf: ResolvConf) -> tuple[ResolvConf, list[str]]:
    warnings: list[str] = []
    if len(conf.nameservers) > NAMESERVERS_MAX:
        kept = conf.nameservers[:NAMESERVERS_MAX]
        conf = replace(conf, nameservers=kept)
        warnings.append(
            "Nameserver limits were exceeded, some nameservers have been omitted, "
            f"the applied nameserver line is: {' '.join(kept)}"
        )
    searches = [each for each in conf.searches[:SEARCHES_MAX] if len(each) <= SEARCH_LENGTH_MAX]
    while searches and len(" ".join(searches)) > SEARCHES_LENGTH_MAX:
        searches.pop()
    if len(searches) < len(conf.searches):
        conf = replace(conf, searches=tuple(searches))
        warnings.append(
            "Search Line limits were exceeded, some search paths have been omitted, "
            f"the applied search line is: {' '.join(searches)}"
        )
    return conf, warnings


def search_line_problem(node: ResolvConf, path: str, cluster_domain: str) -> str:
    """Return why the node's search line is too long for pods, which have more domains; empty if it is not.

    The kubelet reports it when it starts (``CheckLimitsForResolvConf``).
    """
    most = SEARCHES_MAX - (_CLUSTER_SEARCHES if cluster_domain else 0)
    if len(node.searches) > most:
        return f"Resolv.conf file '{path}' contains search line consisting of more than {most} domains!"
    if any(len(each) > SEARCH_LENGTH_MAX for each in node.searches):
        return (
            f'Resolv.conf file "{path}" contains a search path which length is more than allowed '
            f"{SEARCH_LENGTH_MAX} chars!"
        )
    if len(" ".join(node.searches)) > SEARCHES_LENGTH_MAX:
        return (
            f"Resolv.conf file '{path}' contains search line which length is more than allowed "
            f"{SEARCHES_LENGTH_MAX} chars!"
        )
    return ""
