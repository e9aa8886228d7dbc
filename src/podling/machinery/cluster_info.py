"""The public information about a cluster, from which new nodes learn whom to trust.

The ConfigMap ``kube-public/cluster-info`` holds a kubeconfig with the server's address and its authority, and
a signature of that text for each bootstrap token (JWS in compact form, HS256, without its payload): a node
that knows the token recognises its own cluster by it. The hash of the authority's key is a further check.
Pure. Upstream: ``k8s.io/cluster-bootstrap/token/jws``, ``cmd/kubeadm/app/util/pubkeypin``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import Any

import msgspec

from podling.machinery.network_ranges import MODES
from podling.machinery.node_masks import NodeMasks
from podling.machinery.tokens.bootstrap_tokens import BootstrapToken

NAMESPACE = "kube-public"
NAME = "cluster-info"
KUBECONFIG_KEY = "kubeconfig"
SIGNATURE_PREFIX = "jws-kubeconfig-"
CONFIGURATION_NAMESPACE, CONFIGURATION = "kube-system", "kubeadm-config"
"""The ConfigMap with the configuration of the cluster, for nodes and those that want to become nodes."""
CONFIGURATION_KEY = "ClusterConfiguration"
_MASK_OPTIONS = {
    "node-cidr-mask-size": "single",
    "node-cidr-mask-size-ipv4": "ipv4",
    "node-cidr-mask-size-ipv6": "ipv6",
}
HASH_PREFIX = "sha256:"
_HASH = re.compile(r"sha256:[0-9a-f]{64}")


class UnusableInformation(ValueError):
    """The information of a cluster cannot be read."""


def content(server: str, ca_pem: bytes) -> str:
    """Return the kubeconfig that is published: an address and an authority, no credentials."""
    cluster = {"certificate-authority-data": base64.b64encode(ca_pem).decode(), "server": server}
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "clusters": [{"cluster": cluster, "name": ""}],
        "contexts": None,
        "current-context": "",
        "kind": "Config",
        "preferences": {},
        "users": None,
    }
    return msgspec.yaml.encode(document).decode()


class Networking(msgspec.Struct, frozen=True):
    """The network of a cluster, as far as its nodes need to know it; empty where it is not said."""

    pods: str = ""
    """The ranges of pods' addresses."""
    mode: str = ""
    """The way of packets to pods of other machines: one of ``network_ranges.MODES``."""
    masks: NodeMasks = NodeMasks()
    """The sizes of nodes' blocks of pods' addresses."""


def configuration(server: str, pods: str, services: str, mode: str, masks: NodeMasks) -> str:
    """Return the text of kubeadm's ``ClusterConfiguration`` with the network, which nodes need to know.

    The sizes of nodes' blocks are options of the controller manager, as in kubeadm; ``podNetworkMode`` is our
    own field.
    """
    sizes = {option: getattr(masks, name) for option, name in _MASK_OPTIONS.items()}
    document: dict[str, Any] = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "controlPlaneEndpoint": server.removeprefix("https://"),
        "controllerManager": {
            "extraArgs": [{"name": option, "value": str(size)} for option, size in sizes.items() if size]
        },
        "networking": {
            "dnsDomain": "cluster.local",
            "podSubnet": pods,
            "serviceSubnet": services,
            "podNetworkMode": mode,
        },
    }
    return msgspec.yaml.encode(document).decode()


def networking(text: str) -> Networking:
    """Return the network that a ``ClusterConfiguration`` describes."""
    try:
        document = msgspec.yaml.decode(text)
        found = document["networking"]
        pods, mode = found.get("podSubnet"), found.get("podNetworkMode")
    except (msgspec.DecodeError, LookupError, TypeError, AttributeError):
        return Networking()
    return Networking(pods if isinstance(pods, str) else "", mode if mode in MODES else "", _masks(document))


def _masks(document: dict[str, Any]) -> NodeMasks:
    """Return the sizes of nodes' blocks among the options of the controller manager."""
    try:
        given = {each["name"]: each["value"] for each in document["controllerManager"]["extraArgs"]}
        return NodeMasks(**{name: int(given.get(option, 0)) for option, name in _MASK_OPTIONS.items()})
    except (LookupError, TypeError, ValueError):
        return NodeMasks()


def server_and_authority(text: str) -> tuple[str, bytes]:
    """Return the address and the authority's certificate (PEM) in a published kubeconfig.

    Raises ``UnusableInformation``.
    """
    try:
        cluster = msgspec.yaml.decode(text)["clusters"][0]["cluster"]
        server, encoded = cluster["server"], cluster["certificate-authority-data"]
        return str(server), base64.b64decode(encoded, validate=True)
    except (msgspec.DecodeError, binascii.Error, LookupError, TypeError, ValueError) as error:
        raise UnusableInformation(
            f"its kubeconfig names no server with a certificate authority: {error}"
        ) from error


def signature(text: str, token: BootstrapToken) -> str:
    """Return the signature of ``text`` with a token: header and signature, with nothing in between."""
    header = _encoded(msgspec.json.encode({"alg": "HS256", "kid": token.id}))
    signed = hmac.digest(token.secret.encode(), f"{header}.{_encoded(text.encode())}".encode(), "sha256")
    return f"{header}..{_encoded(signed)}"


def is_signed(text: str, found: str, token: BootstrapToken) -> bool:
    """Return whether ``found`` is the signature of ``text`` with a token. Only HS256 is accepted."""
    header, _, rest = found.partition(".")
    payload, _, signed = rest.partition(".")
    try:
        algorithm = msgspec.json.decode(_decoded(header))["alg"]
        given = _decoded(signed)
    except (msgspec.DecodeError, binascii.Error, LookupError, TypeError, ValueError):
        return False
    if algorithm != "HS256" or payload:
        return False
    wanted = hmac.digest(token.secret.encode(), f"{header}.{_encoded(text.encode())}".encode(), "sha256")
    return hmac.compare_digest(given, wanted)


def is_hash(text: str) -> bool:
    """Return whether ``text`` has the form of a public key's hash."""
    return bool(_HASH.fullmatch(text.lower()))


def key_hash(certificate_pem: bytes) -> str:
    """Return ``sha256:`` and the hash of a certificate's public key. Raises ``ValueError``."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    key = x509.load_pem_x509_certificate(certificate_pem).public_key()
    encoded = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return HASH_PREFIX + hashlib.sha256(encoded).hexdigest()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
