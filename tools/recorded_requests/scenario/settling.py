"""States that the API server's own loops bring about, which the scenario waits for."""

from __future__ import annotations

from collections.abc import Callable

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario.kinds import Kind

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
FLOW_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def wait_until_started(recorder: Recorder) -> None:
    """Wait until the server has written what it writes at its start."""
    recorder.wait_for_flow_control()
    for path, condition in ((API_SERVICES, "Available"), (FLOW_SCHEMAS, "Dangling")):
        for each in recorder.objects(path):
            recorder.wait(path, each["metadata"]["name"], has_condition(condition))


def wait_until_settled(recorder: Recorder, kind: Kind, name: str) -> None:
    """Wait until the server's loops have seen the object as it is now; most kinds have no such loop."""
    path = kind.collection
    if path == DEFINITIONS:
        wait_until_served(recorder, name)
    elif path in SETTLED:
        recorder.wait(path, name, lambda obj: obj is None or SETTLED[path](obj))


def wait_until_gone(recorder: Recorder, kind: Kind, name: str) -> None:
    """Wait until a deleted object is gone, for kinds that the server's own loops finalize."""
    if kind.collection == DEFINITIONS:
        recorder.wait(DEFINITIONS, name, lambda obj: obj is None)
        _wait_until_services_are_gone(recorder, name.partition(".")[2])


def wait_until_served(recorder: Recorder, definition: str) -> None:
    """Wait until a definition is established and each served version has its APIService."""
    found = recorder.wait(DEFINITIONS, definition, is_established)
    if found is None:
        return
    for version in found["spec"]["versions"]:
        if version["served"]:
            service = f"{version['name']}.{found['spec']['group']}"
            recorder.wait(API_SERVICES, service, has_condition("Available"))
    _wait_until_services_are_gone(recorder, found["spec"]["group"])


def _wait_until_services_are_gone(recorder: Recorder, group: str) -> None:
    """Wait until no APIService of a group is left but those of versions that definitions serve."""
    served = {
        f"{version['name']}.{definition['spec']['group']}"
        for definition in recorder.objects(DEFINITIONS)
        for version in definition["spec"]["versions"]
        if version["served"]
    }
    for each in recorder.objects(API_SERVICES):
        name = each["metadata"]["name"]
        if each["spec"].get("group") == group and name not in served:
            recorder.wait(API_SERVICES, name, lambda obj: obj is None)


def has_condition(kind: str) -> Callable[[Json | None], bool]:
    """Return a check for a condition of any status."""

    def check(obj: Json | None) -> bool:
        return kind in _conditions(obj)

    return check


def is_established(definition: Json | None) -> bool:
    """Return whether a definition is served."""
    return _conditions(definition).get("Established") == "True"


def is_observed(obj: Json | None) -> bool:
    """Return whether the status is one of the present generation."""
    status = obj and obj.get("status")
    return bool(obj and status and status.get("observedGeneration") == obj["metadata"].get("generation"))


def _conditions(obj: Json | None) -> dict[str, str]:
    status = (obj or {}).get("status") or {}
    return {each["type"]: each["status"] for each in status.get("conditions") or ()}


SETTLED: dict[str, Callable[[Json | None], bool]] = {
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies": is_observed,
    API_SERVICES: has_condition("Available"),
    FLOW_SCHEMAS: has_condition("Dangling"),
}
