"""``/flagz`` and ``/statusz`` of the kubelet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec
from aiohttp import web

from podling import clock
from podling.kubelet.config import KubeletConfig
from podling.kubelet.version import KUBERNETES_VERSION
from podling.machinery.component_pages import FLAGZ, GATES, YAML, Page, flagz, statusz, wanted
from podling.machinery.durations import go_duration
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.feature_gates import is_enabled

COMPONENT = "kubelet"


def served_pages(config: KubeletConfig) -> tuple[str, ...]:
    """Return the paths whose feature gates are on."""
    return tuple(path for path, gate in GATES.items() if is_enabled(gate, config.feature_gates))


def page_response(
    request: web.Request, config: KubeletConfig, started: datetime, served: Iterable[str]
) -> web.Response:
    """Return the page at the request's path, or the refusal of the form that the client wants."""
    try:
        form, version = wanted(request.path, request.headers.get("Accept", ""))
    except ApiError as refused:
        return _response(codec.encode(refused.status), "application/json", refused.code)
    if request.path == FLAGZ:
        page = flagz(COMPONENT, flags_of(config))
    else:
        page = statusz(COMPONENT, KUBERNETES_VERSION, started, clock.now(), served)
    if not version:
        return web.Response(text=page.text)
    return _object(page, version, form)


def _object(page: Page, version: str, form: str) -> web.Response:
    document = page.document(version)
    encode = msgspec.yaml.encode if form == YAML else msgspec.json.encode
    response = _response(encode(document), form, 200)
    if warning := page.warning(version):
        response.headers["Warning"] = f'299 - "{warning}"'
    return response


def _response(body: bytes, media_type: str, code: int) -> web.Response:
    return web.Response(body=body, status=code, headers={"Content-Type": media_type})


def flags_of(config: KubeletConfig) -> dict[str, str]:
    """Return the options of a node under the names of the kubelet's flags, and their values."""
    taints = (f"{each.key}={each.value or ''}:{each.effect}" for each in config.register_with_taints)
    return {
        "fail-swap-on": _go(config.fail_swap_on),
        "feature-gates": _pairs({name: _go(value) for name, value in config.feature_gates.items()}),
        "hostname-override": config.hostname,
        "node-external-ip": ",".join(config.external_addresses),
        "node-ip": ",".join(config.node_addresses),
        "node-labels": _pairs(config.node_labels),
        "node-status-update-frequency": go_duration(config.node_status_update_frequency),
        "register-node": _go(config.register_node),
        "register-with-taints": ",".join(taints),
    }


def _pairs(values: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(values.items()))


def _go(value: bool) -> str:
    return "true" if value else "false"
