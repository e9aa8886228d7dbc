"""A container's privileges: the container's security context over the pod's over the defaults. Pure.

All decisions are made here, so runtimes need not know how the two contexts combine
(``pkg/securitycontext``, ``kuberuntime/security_context.go``).
"""

from __future__ import annotations

from podling.api.core_v1 import Container, Pod, PodSecurityContext, SeccompProfile, SecurityContext
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.security_modules import app_armor_profile, selinux_options
from podling.kubelet.failures import StartFailure
from podling.kubelet.pod_spec import pod_text
from podling.runtime.base import Security
from podling.runtime.image_service import Image
from podling.runtime.user_ids import id_number, is_number

DEFAULT_MASKED_PATHS = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
DEFAULT_READONLY_PATHS = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


def container_security(pod: Pod, container: Container, config: KubeletConfig) -> Security:
    """Return the privileges of ``container``."""
    outer = pod.spec.security_context or PodSecurityContext()
    inner = container.security_context or SecurityContext()
    user = inner.run_as_user if inner.run_as_user is not None else outer.run_as_user
    group = inner.run_as_group if inner.run_as_group is not None else outer.run_as_group
    groups = outer.supplemental_groups + ((outer.fs_group,) if outer.fs_group is not None else ())
    privileged = bool(inner.privileged)
    unmasked = privileged or inner.proc_mount == "Unmasked"
    capabilities = inner.capabilities
    return Security(
        user="" if user is None else str(user),
        group=group,
        supplemental_groups=tuple(dict.fromkeys(groups)),
        supplemental_groups_policy=outer.supplemental_groups_policy or "Merge",
        privileged=privileged,
        add_capabilities=capabilities.add if capabilities is not None else (),
        drop_capabilities=capabilities.drop if capabilities is not None else (),
        no_new_privileges=inner.allow_privilege_escalation is False and not privileged,
        read_only_rootfs=bool(inner.read_only_root_filesystem),
        seccomp=_seccomp(inner.seccomp_profile or outer.seccomp_profile, config, privileged=privileged),
        app_armor=app_armor_profile(outer, inner),
        selinux=selinux_options(outer, inner),
        masked_paths=() if unmasked else DEFAULT_MASKED_PATHS,
        readonly_paths=() if unmasked else DEFAULT_READONLY_PATHS,
    )


def _seccomp(profile: SeccompProfile | None, config: KubeletConfig, *, privileged: bool) -> str:
    if privileged:
        return "unconfined"
    if profile is None:
        return "runtime/default" if config.seccomp_default else "unconfined"
    if profile.type == "RuntimeDefault":
        return "runtime/default"
    if profile.type == "Localhost":
        return f"localhost/{config.seccomp_profile_root / (profile.localhost_profile or '')}"
    return "unconfined"


def verify_non_root(pod: Pod, container: Container, image: Image) -> None:
    """Raise ``StartFailure`` if the container violates ``runAsNonRoot``."""
    outer = pod.spec.security_context or PodSecurityContext()
    inner = container.security_context or SecurityContext()
    wanted = inner.run_as_non_root if inner.run_as_non_root is not None else outer.run_as_non_root
    if not wanted:
        return
    about = f'(pod: "{pod_text(pod)}", container: {container.name})'
    user = inner.run_as_user if inner.run_as_user is not None else outer.run_as_user
    if user is not None:
        if user == 0:
            raise StartFailure(
                "CreateContainerConfigError", f"container's runAsUser breaks non-root policy {about}"
            )
        return
    name = image.user.partition(":")[0]
    if name and not is_number(name):
        raise StartFailure(
            "CreateContainerConfigError",
            f"container has runAsNonRoot and image has non-numeric user ({name}), "
            f"cannot verify user is non-root {about}",
        )
    if not name or id_number(name) == 0:
        raise StartFailure(
            "CreateContainerConfigError",
            f"container has runAsNonRoot and image will run as root {about}",
        )
