"""Addresses of kubelets that serve a cluster's images."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Node
from podling.cli.image_access import kubelet_url

INTERNAL = {"type": "InternalIP", "address": "10.0.0.7"}
SIX = {"type": "InternalIP", "address": "fd00::7"}
HOSTNAME = {"type": "Hostname", "address": "one"}


@pytest.mark.parametrize(
    ("addresses", "port", "url"),
    [
        ([INTERNAL], 10250, "https://10.0.0.7:10250"),
        ([HOSTNAME, INTERNAL, SIX], 10250, "https://10.0.0.7:10250"),
        ([SIX], 10250, "https://[fd00::7]:10250"),
        ([INTERNAL], 0, ""),
        ([HOSTNAME], 10250, ""),
        ([], 10250, ""),
    ],
)
def test_kubelet_url_needs_internal_address_and_port(
    addresses: list[dict[str, Any]], port: int, url: str
) -> None:
    status = {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
    assert kubelet_url(msgspec.convert({"status": status}, Node)) == url
