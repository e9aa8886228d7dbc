"""Restart policies and restart rules: decides if a container that ended starts again. Pure.

A container's own ``restartPolicy`` and rules come before the pod's. Rules are tried in order and the
first that matches the exit code decides; if none does, the container's policy decides. After a probe kill
only policies count, since there is no exit code yet for a rule
(``pkg/api/v1/pod/util.go``, ``kubecontainer.ShouldContainerBeRestarted``).
"""

from __future__ import annotations

from podling.api.core_v1 import Container, ContainerRestartRule, Pod, PodSpec
from podling.runtime.base import Container as Observed
from podling.runtime.base import ContainerState

RESTART_ALL_CONTAINERS = "RestartAllContainers"


def policy_of(container: Container, spec: PodSpec) -> str:
    """Return the policy in force for ``container``: its own or the pod's."""
    return container.restart_policy or spec.restart_policy or "Always"


def matching_rule(container: Container, exit_code: int) -> ContainerRestartRule | None:
    """Return the first of the container's rules that the exit code matches."""
    return next((rule for rule in container.restart_policy_rules if _matches(rule, exit_code)), None)


def _matches(rule: ContainerRestartRule, exit_code: int) -> bool:
    condition = rule.exit_codes
    if condition is None:
        return False
    if condition.operator == "In":
        return exit_code in condition.values
    return condition.operator == "NotIn" and exit_code not in condition.values


def restarts_after(container: Container, spec: PodSpec, exit_code: int) -> bool:
    """Return whether ``container`` starts again after ending with ``exit_code``."""
    if matching_rule(container, exit_code) is not None:
        return True
    policy = policy_of(container, spec)
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def restarts_when_killed(container: Container, spec: PodSpec) -> bool:
    """Return whether ``container`` starts again after the kubelet killed it for a failed probe."""
    return policy_of(container, spec) != "Never"


def should_start(container: Container, pod: Pod, newest: Observed | None) -> bool:
    """Return whether a regular container that is not running should be started.

    It should not once the pod is being deleted. A container that never started, was only created, or is in
    an unknown state should.
    """
    if pod.metadata.deletion_timestamp is not None:
        return False
    if newest is None:
        return True
    if newest.state is ContainerState.RUNNING:
        return False
    if newest.state is not ContainerState.EXITED:
        return True
    return restarts_after(container, pod.spec, newest.exit_code or 0)


def pod_restarts_on_failure(spec: PodSpec) -> bool:
    return spec.restart_policy != "Never"


def calls_for_restart_of_all(container: Container, ended: Observed | None) -> bool:
    """Return whether this container's end restarts all containers of the pod in place."""
    if ended is None or ended.state is not ContainerState.EXITED:
        return False
    rule = matching_rule(container, ended.exit_code or 0)
    return rule is not None and rule.action == RESTART_ALL_CONTAINERS
