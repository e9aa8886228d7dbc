"""CEL's functions on URLs and IP addresses in Kubernetes.

Source: ``k8s.io/apiserver/pkg/cel/library`` (``urls.go``, ``ip.go``, ``cidr.go``).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from urllib.parse import parse_qs

from msgspec import Struct

from podling.apiserver.cel import netip
from podling.apiserver.cel.functions import Function, add
from podling.apiserver.cel.values import is_of_kind
from podling.machinery.urls import GoUrl, parse_request_uri

Address = IPv4Address | IPv6Address
URL, IP, CIDR = "kubernetes.URL", "net.IP", "net.CIDR"


class Cidr(Struct, frozen=True):
    """An address and how many of its bits are the network's."""

    address: Address
    bits: int

    @property
    def network(self) -> IPv4Network | IPv6Network:
        return ip_network((self.address, self.bits), strict=False)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


def works(read: Function) -> Function:
    """Return whether a text can be read."""

    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def _url(text: str) -> GoUrl:
    try:
        return parse_request_uri(text)
    except ValueError as error:
        raise ValueError(f"URL parse error during conversion from string: {error}") from None


def _query(url: GoUrl) -> dict[str, list[str]]:
    pairs = "&".join(each for each in url.query.split("&") if ";" not in each)
    return parse_qs(pairs, keep_blank_values=True)


def _ip(text: str) -> Address:
    try:
        return netip.parse(text)
    except netip.NotAllowed:
        raise
    except ValueError as error:
        shown = f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}")'
        raise ValueError(f"{shown}: {error}") from None


def _cidr(text: str) -> Cidr:
    context = "network address parse error during conversion from string"
    try:
        return Cidr(*netip.parse_prefix(text))
    except ValueError as error:
        inner = "" if isinstance(error, netip.NotAllowed) else f'{context}: netip.ParsePrefix("{text}"): '
        raise ValueError(f"{context}: {inner}{error}") from None


def _is_global(address: Address) -> bool:
    if address in (IPv4Address("0.0.0.0"), IPv4Address("255.255.255.255"), IPv6Address("::")):
        return False
    return not (address.is_loopback or address.is_multicast or address.is_link_local)


def _is_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in IPv4Network("224.0.0.0/24")
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def _contains(net: Cidr, address: Address) -> bool:
    return address.version == net.address.version and address in net.network


def _covers(net: Cidr, other: Cidr) -> bool:
    return net.bits <= other.bits and _contains(net, other.address)


def _masked(net: Cidr) -> Cidr:
    return Cidr(net.network.network_address, net.bits)


def _add_urls() -> None:
    is_of_kind(GoUrl, URL)
    add("url", "", "string", URL, _url)
    add("isURL", "", "string", "bool", works(_url))
    add("getScheme", URL, "", "string", lambda url: url.scheme)
    add("getHost", URL, "", "string", lambda url: url.host)
    add("getHostname", URL, "", "string", lambda url: url.host_name)
    add("getPort", URL, "", "string", lambda url: url.port)
    add("getEscapedPath", URL, "", "string", lambda url: url.escaped_path)
    add("getQuery", URL, "", "map(string,list(string))", _query)


def _add_addresses() -> None:
    for each in (IPv4Address, IPv6Address):
        is_of_kind(each, IP)
    add("ip", "", "string", IP, _ip)
    add("isIP", "", "string", "bool", works(_ip))
    add("ip.isCanonical", "", "string", "bool", lambda text: str(_ip(text)) == text)
    add("family", IP, "", "int", lambda address: address.version)
    add("isUnspecified", IP, "", "bool", lambda address: address.is_unspecified)
    add("isLoopback", IP, "", "bool", lambda address: address.is_loopback)
    add("isGlobalUnicast", IP, "", "bool", _is_global)
    add("isLinkLocalUnicast", IP, "", "bool", lambda address: address.is_link_local)
    add("isLinkLocalMulticast", IP, "", "bool", _is_local_multicast)
    is_of_kind(Cidr, CIDR)
    add("cidr", "", "string", CIDR, _cidr)
    add("isCIDR", "", "string", "bool", works(_cidr))
    add("containsIP", CIDR, "string", "bool", lambda net, text: _contains(net, _ip(text)))
    add("containsIP", CIDR, IP, "bool", _contains)
    add("containsCIDR", CIDR, "string", "bool", lambda net, text: _covers(net, _cidr(text)))
    add("containsCIDR", CIDR, CIDR, "bool", _covers)
    add("ip", CIDR, "", IP, lambda net: net.address)
    add("prefixLength", CIDR, "", "int", lambda net: net.bits)
    add("masked", CIDR, "", CIDR, _masked)
    for kind in (IP, CIDR):
        add("string", "", kind, "string", str)


for _group in (_add_urls, _add_addresses):
    _group()
