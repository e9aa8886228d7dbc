"""Options of a pod's streams, validated before any request to a node. Pure.

This includes the choice of the container and the messages of refusals
(``pkg/registry/core/pod/strategy.go``: ``LogLocation``, ``streamLocation``; ``validation.go``:
``ValidatePodLogOptions``).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from podling.api.core_v1 import Pod
from podling.apiserver.http.options import number
from podling.apiserver.kinds.common.checks import error_of_whole_object
from podling.machinery import errors, fields
from podling.machinery.fields import FieldError, Path

LOG_STREAMS = ("All", "Stdout", "Stderr")


def container_of(pod: Pod, asked: str) -> str:
    """Return the container that a request means: the one it names, or the only one. Raises 400."""
    name, spec = pod.metadata.name, pod.spec
    if asked:
        known = {each.name for each in (*spec.containers, *spec.init_containers)}
        known |= {each.name for each in spec.ephemeral_containers}
        if asked not in known:
            raise errors.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(spec.containers) == 1:
        return spec.containers[0].name
    text = f"a container name must be specified for pod {name}"
    if spec.containers:
        every = [each.name for each in (*spec.init_containers, *spec.containers)]
        every += [each.name for each in spec.ephemeral_containers]
        text += f", choose one of: [{' '.join(every)}]"
    raise errors.bad_request(text)


def node_of(pod: Pod) -> str:
    """Return the node that runs ``pod``. Raises 400 when there is none."""
    if not pod.spec.node_name:
        raise errors.bad_request(f"pod {pod.metadata.name} does not have a host assigned")
    return pod.spec.node_name


def check_log_options(pod: str, query: Mapping[str, str]) -> None:
    """Raises 422 for log options that make no sense, 400 for numbers that are none."""
    found: list[FieldError] = []
    both = bool(query.get("sinceTime") and query.get("sinceSeconds"))
    for name, least in (("tailLines", 0), ("limitBytes", 1), ("sinceSeconds", 1)):
        value = number(query, name)
        if value is not None and value < least and not (both and name == "sinceSeconds"):
            text = "must be greater than or equal to 0" if least == 0 else "must be greater than 0"
            found.append(fields.invalid(Path(name), value, text))
    if query.get("sinceTime"):
        if both:
            why = "at most one of `sinceTime` or `sinceSeconds` may be specified"
            found.append(error_of_whole_object(fields.forbidden(Path(), why)))
        try:
            datetime.fromisoformat(query["sinceTime"])
        except ValueError:
            raise errors.bad_request(f'parsing time "{query["sinceTime"]}" as RFC 3339 failed') from None
    stream = query.get("stream", "")
    if stream and stream not in LOG_STREAMS:
        found.append(fields.not_supported(Path("stream"), stream, LOG_STREAMS))
    if stream and stream != LOG_STREAMS[0] and query.get("tailLines"):
        why = "`tailLines` and specific `stream` are mutually exclusive for now"
        found.append(error_of_whole_object(fields.forbidden(Path(), why)))
    if found:
        raise errors.invalid("PodLogOptions", "", pod, found)
