"""Problems of the servers of scenarios, and the servers that objects make the API server call. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apiregistration_v1 import APIService
from podling.sim.scenario_parts import Finding, Path
from podling.sim.servers.scripted_handler import where_problem
from podling.sim.servers.server_scripts import Server


def called_servers(obj: Any) -> Iterator[str]:
    """Yield the servers that an object makes the API server call: ``namespace/name`` of Services, URLs."""
    for config in _client_configs(obj):
        if config is None:
            continue
        service = config.service
        if service is not None:
            yield f"{service.namespace}/{service.name}"
        elif getattr(config, "url", None):
            yield config.url


def _client_configs(obj: Any) -> Iterator[Any]:
    if isinstance(obj, APIService):
        yield obj.spec
    elif isinstance(obj, CustomResourceDefinition):
        conversion = obj.spec.conversion
        if conversion is not None and conversion.webhook is not None:
            yield conversion.webhook.client_config
    else:
        for webhook in getattr(obj, "webhooks", ()):
            yield webhook.client_config


def server_problems(servers: Sequence[Server]) -> Iterator[Finding]:
    """Yield the problems of a scenario's servers."""
    names: set[str] = set()
    for number, server in enumerate(servers):
        path: Path = ("servers", number)
        if bool(server.service) == bool(server.url):
            yield Finding(path, "either service or url must be given")
            continue
        if server.name in names:
            yield Finding(path, f"there are two servers {server.name}")
        names.add(server.name)
        yield from _name_problems(server, path)
        for place, review in enumerate(server.reviews):
            inside = (*path, "reviews", place)
            if review.where and (problem := where_problem(review.where)):
                yield Finding((*inside, "where"), problem)
            if review.patch and not review.allowed:
                yield Finding((*inside, "patch"), "a refusal has no patch")


def _name_problems(server: Server, path: Path) -> Iterator[Finding]:
    if server.service and server.service.count("/") != 1:
        yield Finding((*path, "service"), "a Service is named namespace/name")
    if server.url and urlsplit(server.url).scheme != "https":
        yield Finding((*path, "url"), "the URL of a webhook begins with https://")
