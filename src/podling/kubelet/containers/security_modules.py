"""AppArmor profiles and SELinux labels that pods specify. Pure.

Upstream: ``pkg/security/apparmor``, ``pkg/securitycontext``, ``pkg/kubelet/kuberuntime/security_context.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.core_v1 import AppArmorProfile, Container, Pod, PodSecurityContext, SecurityContext
from podling.kubelet.pod_spec import containers_with_kind
from podling.runtime.base import SelinuxOptions

UNCONFINED, RUNTIME_DEFAULT, LOCALHOST = "Unconfined", "RuntimeDefault", "Localhost"


def app_armor_refusal(pod: Pod, *, enabled: bool) -> str:
    """Return why the node cannot enforce the pod's AppArmor profiles; empty if it can.

    Args:
        enabled: whether the node's kernel has AppArmor enabled.
    """
    if enabled or all(profile.type == UNCONFINED for profile in _profiles(pod)):
        return ""
    return "AppArmor is not enabled on the host"


def app_armor_profile(outer: PodSecurityContext, inner: SecurityContext) -> str:
    """Return the container's profile as ``Security.app_armor`` has it; its own is used before the pod's."""
    profile = inner.app_armor_profile or outer.app_armor_profile
    if profile is None or inner.privileged:
        return ""
    if profile.type == LOCALHOST:
        return f"localhost/{profile.localhost_profile or ''}"
    return "runtime/default" if profile.type == RUNTIME_DEFAULT else "unconfined"


def selinux_options(outer: PodSecurityContext, inner: SecurityContext) -> SelinuxOptions | None:
    """Return the parts of the container's SELinux label that are set; the container's replace the pod's."""
    options = inner.se_linux_options or outer.se_linux_options
    if options is None or inner.privileged:
        return None
    return SelinuxOptions(user=options.user, role=options.role, type=options.type, level=options.level)


def _profiles(pod: Pod) -> Iterator[AppArmorProfile]:
    if pod.spec.security_context is not None and pod.spec.security_context.app_armor_profile is not None:
        yield pod.spec.security_context.app_armor_profile
    for _, container in containers_with_kind(pod.spec):
        profile = _own_profile(container)
        if profile is not None:
            yield profile


def _own_profile(container: Container) -> AppArmorProfile | None:
    context = container.security_context
    return context.app_armor_profile if context is not None else None
