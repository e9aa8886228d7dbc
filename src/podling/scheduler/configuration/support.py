"""Fields of ``KubeSchedulerConfiguration`` that Podling's scheduler does not have, and why. Pure.

Some may hold the values that describe Podling; everything else is refused, so that no field of a file is
ignored in silence.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import json, structs

from podling.scheduler.configuration.defaults import PARALLELISM
from podling.scheduler.configuration.types import KubeSchedulerConfiguration

_ONE = "the cluster has one scheduler, which needs no lease"
_OWN_CLIENT = "the scheduler uses the API server of its cluster"
_NO_LIMIT = "Podling does not limit its rate; priority and fairness of the API server does"
_NO_PROFILING = "there is no profiling endpoint"
_VECTORS = "filters and scores look at all nodes in one operation"


def unsupported(found: KubeSchedulerConfiguration) -> Iterator[str]:
    """Yield why fields that a file sets cannot hold."""
    if found.leader_election.leader_elect is not False:
        yield from _leader_election(found)
    client = found.client_connection
    for name, value, reason in (
        ("kubeconfig", client.kubeconfig, _OWN_CLIENT),
        ("acceptContentTypes", client.accept_content_types, _OWN_CLIENT),
        ("contentType", client.content_type, _OWN_CLIENT),
        ("qps", client.qps, _NO_LIMIT),
        ("burst", client.burst, _NO_LIMIT),
    ):
        if value:
            yield _refused(f"clientConnection.{name}", reason)
    for name, flag in (
        ("enableProfiling", found.enable_profiling),
        ("enableContentionProfiling", found.enable_contention_profiling),
    ):
        if flag:
            yield _only(name, False, _NO_PROFILING)
    if found.parallelism not in (None, PARALLELISM):
        yield _only("parallelism", PARALLELISM, _VECTORS)
    if found.delay_cache_until_active:
        yield _only("delayCacheUntilActive", False, _ONE)


def _leader_election(found: KubeSchedulerConfiguration) -> Iterator[str]:
    election = found.leader_election
    if election.leader_elect:
        yield _only("leaderElection.leaderElect", False, _ONE)
    for each in structs.fields(election):
        if each.name != "leader_elect" and getattr(election, each.name):
            yield _refused(f"leaderElection.{each.encode_name}", _ONE)


def _refused(path: str, reason: str) -> str:
    return f"field {path} is not supported: {reason}"


def _only(path: str, value: object, reason: str) -> str:
    return f"field {path} may only be {json.encode(value).decode()}: {reason}"
