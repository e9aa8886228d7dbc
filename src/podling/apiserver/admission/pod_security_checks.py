"""The Pod Security Standards: what a pod may not do at the levels *baseline* and *restricted*.

Each check looks at one thing and says, if it is violated, why and where, in the words of Kubernetes. A
restricted pod has to pass the baseline's checks too, but for those that a stricter one replaces. Checks came,
and were changed, with versions of Kubernetes: a namespace may hold its pods to those of an earlier one.

Upstream: ``staging/src/k8s.io/pod-security-admission/policy``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

from msgspec import Struct

from podling.api.core_v1 import Lifecycle, PodSpec, SecurityContext
from podling.apiserver.kinds.pod.pod_scope import AnyContainer
from podling.apiserver.kinds.pod.volume_defaults import SOURCES

PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
LATEST = "latest"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)

DEFAULT_CAPABILITIES = frozenset({
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
    "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
})  # fmt: skip
SAFE_SYSCTLS = frozenset({
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
})  # fmt: skip
SAFE_SYSCTLS_27 = SAFE_SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
SAFE_SYSCTLS_29 = SAFE_SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}  # fmt: skip
SAFE_SYSCTLS_32 = SAFE_SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
SELINUX_TYPES_31 = SELINUX_TYPES | {"container_engine_t"}
RESTRICTED_SOURCES = frozenset({
    "config_map", "csi", "downward_api", "empty_dir", "ephemeral", "image", "persistent_volume_claim",
    "projected", "secret",
})  # fmt: skip
"""Volume sources that a restricted pod may have."""


class Violation(Struct, frozen=True):
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


Check = Callable[[PodSpec], Violation | None]
Versions = tuple[tuple[int, Check], ...]
"""A check as it was changed: the minor version (of 1) that it holds from, and the check."""


def violations(spec: PodSpec, level: str, version: str = LATEST) -> list[Violation]:
    """Return the violations of the level in Kubernetes' order; none at ``privileged``."""
    minor = NEWEST if version == LATEST else min(int(version.removeprefix("v1.")), NEWEST)
    return [found for check in _checks(level, minor) if (found := check(spec)) is not None]


@cache
def _checks(level: str, minor: int) -> tuple[Check, ...]:
    """Return the checks of a level as they are in a minor version."""
    if level == PRIVILEGED:
        return ()
    chosen = _in_version(_BASELINE, minor)
    if level == RESTRICTED:
        stricter = _in_version(_RESTRICTED, minor)
        replaced = {_REPLACED.get(name) for name in stricter}
        chosen = {name: check for name, check in chosen.items() if name not in replaced} | stricter
    return tuple(chosen.values())


def _in_version(checks: dict[str, Versions], minor: int) -> dict[str, Check]:
    return {
        name: check for name, versions in checks.items() for since, check in versions if since <= minor
    }  # the last one counts


def _containers(spec: PodSpec) -> Iterator[AnyContainer]:
    yield from spec.init_containers
    yield from spec.containers
    yield from spec.ephemeral_containers


def _contexts(spec: PodSpec) -> Iterator[tuple[str, SecurityContext]]:
    for container in _containers(spec):
        yield container.name, container.security_context or _NO_CONTEXT


_NO_CONTEXT = SecurityContext()
_NO_HOOKS = Lifecycle()


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(json.dumps(name) for name in names)


def _who(names: list[str]) -> str:
    return f"{'container' if len(names) == 1 else 'containers'} {_quoted(names)}"


def _pod_and(pod: bool, names: list[str]) -> str:
    """Return the setters of something: the pod, containers, or both."""
    return " and ".join([*(["pod"] if pod else []), *([_who(names)] if names else [])])


def _host_namespaces(spec: PodSpec) -> Violation | None:
    used = [
        f"{name}=true"
        for name, value in (
            ("hostNetwork", spec.host_network),
            ("hostPID", spec.host_pid),
            ("hostIPC", spec.host_ipc),
        )
        if value
    ]
    return Violation("host namespaces", ", ".join(used)) if used else None


def _privileged(spec: PodSpec) -> Violation | None:
    names = [name for name, context in _contexts(spec) if context.privileged]
    detail = f"{_who(names)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if names else None


def _capabilities(spec: PodSpec) -> Violation | None:
    return _added(spec, DEFAULT_CAPABILITIES, "non-default capabilities")


def _added(spec: PodSpec, allowed: frozenset[str], reason: str) -> Violation | None:
    names: list[str] = []
    forbidden: set[str] = set()
    for name, context in _contexts(spec):
        extra = set(context.capabilities.add if context.capabilities else ()) - allowed
        if extra:
            names.append(name)
            forbidden |= extra
    if not names:
        return None
    detail = (
        f"{_who(names)} must not include {_quoted(sorted(forbidden))} in securityContext.capabilities.add"
    )
    return Violation(reason, detail)


def _host_paths(spec: PodSpec) -> Violation | None:
    names = [volume.name for volume in spec.volumes if volume.host_path is not None]
    detail = f"{'volume' if len(names) == 1 else 'volumes'} {_quoted(names)}"
    return Violation("hostPath volumes", detail) if names else None


def _probe_hosts(spec: PodSpec) -> Violation | None:
    """Return the hosts that probes and hooks name: by default they go to the pod itself."""
    found: dict[str, set[str]] = {}
    for container in _containers(spec):
        hooks = container.lifecycle or _NO_HOOKS
        actions = (
            *(container.liveness_probe, container.readiness_probe, container.startup_probe),
            *(hooks.post_start, hooks.pre_stop),
        )
        requests = [each for action in actions if action for each in (action.http_get, action.tcp_socket)]
        hosts = {request.host for request in requests if request is not None and request.host}
        if hosts:
            found.setdefault(container.name, set()).update(hosts)
    if not found:
        return None
    every = sorted(set().union(*found.values()))
    verb = "uses" if len(found) == 1 else "use"
    noun = "probe or lifecycle host" if len(every) == 1 else "probe or lifecycle hosts"
    detail = f"{_who(sorted(found))} {verb} {noun} {_quoted(every)}"
    return Violation("probe or lifecycle host", detail)


def _host_ports(spec: PodSpec) -> Violation | None:
    names: list[str] = []
    ports: set[int] = set()
    for container in _containers(spec):
        own = {port.host_port for port in container.ports if port.host_port}
        if own:
            names.append(container.name)
            ports |= own
    if not names:
        return None
    verb, noun = "uses" if len(names) == 1 else "use", "hostPort" if len(ports) == 1 else "hostPorts"
    return Violation("hostPort", f"{_who(names)} {verb} {noun} {', '.join(map(str, sorted(ports)))}")


def _app_armor(spec: PodSpec) -> Violation | None:
    def unconfined(context: Any) -> bool:
        profile = context.app_armor_profile if context is not None else None
        return profile is not None and profile.type == "Unconfined"

    names = [name for name, context in _contexts(spec) if unconfined(context)]
    pod = unconfined(spec.security_context)
    if not pod and not names:
        return None
    reason = "forbidden AppArmor profile" + ("s" if len(names) + pod > 1 else "")
    return Violation(reason, f'{_pod_and(pod, names)} must not set AppArmor profile type to "Unconfined"')


def _se_linux(spec: PodSpec, allowed: frozenset[str]) -> Violation | None:
    names: list[str] = []
    types: set[str] = set()
    more: set[str] = set()

    def bad(context: Any) -> bool:
        options = context.se_linux_options if context is not None else None
        if options is None:
            return False
        wrong_type = (options.type or "") not in allowed
        types.update([options.type] if wrong_type else [])
        more.update(
            f"{field} may not be set"
            for field in ("user", "role")
            if getattr(options, field) not in (None, "")
        )
        return wrong_type or bool(options.user or options.role)

    pod = bad(spec.security_context)
    names = [name for name, context in _contexts(spec) if bad(context)]
    if not pod and not names:
        return None
    kinds = f"{'type' if len(types) == 1 else 'types'} {_quoted(sorted(types))}" if types else ""
    detail = "; ".join(filter(None, [kinds, *sorted(more, reverse=True)]))
    return Violation(
        "seLinuxOptions", f"{_pod_and(pod, names)} set forbidden securityContext.seLinuxOptions: {detail}"
    )


def _proc_mount(spec: PodSpec) -> Violation | None:
    found = {name: c.proc_mount for name, c in _contexts(spec) if c.proc_mount not in (None, "Default")}
    if not found:
        return None
    values = _quoted(sorted({str(value) for value in found.values()}))
    return Violation("procMount", f"{_who(list(found))} must not set securityContext.procMount to {values}")


def _seccomp_unconfined(spec: PodSpec) -> Violation | None:
    def unconfined(context: Any) -> bool:
        profile = context.seccomp_profile if context is not None else None
        return profile is not None and profile.type == "Unconfined"

    pod = unconfined(spec.security_context)
    names = [name for name, context in _contexts(spec) if unconfined(context)]
    if not pod and not names:
        return None
    detail = f'{_pod_and(pod, names)} must not set securityContext.seccompProfile.type to "Unconfined"'
    return Violation("seccompProfile", detail)


def _sysctls(spec: PodSpec, allowed: frozenset[str]) -> Violation | None:
    own = spec.security_context.sysctls if spec.security_context is not None else ()
    found = [sysctl.name for sysctl in own if sysctl.name not in allowed]
    return Violation("forbidden sysctls", ", ".join(found)) if found else None


def _host_process(spec: PodSpec) -> Violation | None:
    def hosted(context: Any) -> bool:
        options = context.windows_options if context is not None else None
        return options is not None and bool(options.host_process)

    pod = hosted(spec.security_context)
    names = [name for name, context in _contexts(spec) if hosted(context)]
    detail = f"{_pod_and(pod, names)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail) if pod or names else None


def _escalation(spec: PodSpec) -> Violation | None:
    names = [name for name, context in _contexts(spec) if context.allow_privilege_escalation is not False]
    detail = f"{_who(names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if names else None


def _restricted_capabilities(spec: PodSpec) -> Violation | None:
    keeping = [
        name
        for name, context in _contexts(spec)
        if "ALL" not in (context.capabilities.drop if context.capabilities else ())
    ]
    details = [f'{_who(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    added = _added(spec, frozenset({"NET_BIND_SERVICE"}), "")
    details += [added.detail] if added is not None else []
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _volume_types(spec: PodSpec) -> Violation | None:
    names: list[str] = []
    types: set[str] = set()
    for volume in spec.volumes:
        wrong = [source for source in SOURCES if getattr(volume, source) and source not in RESTRICTED_SOURCES]
        if wrong:
            names.append(volume.name)
            fields = volume.__struct_fields__
            types.update(volume.__struct_encode_fields__[fields.index(source)] for source in wrong)
    if not names:
        return None
    volumes = f"{'volume' if len(names) == 1 else 'volumes'} {_quoted(names)}"
    verb, noun = "uses" if len(names) == 1 else "use", "type" if len(types) == 1 else "types"
    detail = f"{volumes} {verb} restricted volume {noun} {_quoted(sorted(types))}"
    return Violation("restricted volume types", detail)


def _non_root(spec: PodSpec) -> Violation | None:
    pod = spec.security_context.run_as_non_root if spec.security_context is not None else None
    wrong = [name for name, context in _contexts(spec) if context.run_as_non_root is False]
    silent = [name for name, context in _contexts(spec) if context.run_as_non_root is None]
    reason = "runAsNonRoot != true"
    if wrong or (pod is False and silent):
        who = _pod_and(pod is False and bool(silent), wrong)
        return Violation(reason, f"{who} must not set securityContext.runAsNonRoot=false")
    if pod or not silent:
        return None
    return Violation(reason, f"pod or {_who(silent)} must set securityContext.runAsNonRoot=true")


def _root_user(spec: PodSpec) -> Violation | None:
    pod = spec.security_context is not None and spec.security_context.run_as_user == 0
    names = [name for name, context in _contexts(spec) if context.run_as_user == 0]
    detail = f"{_pod_and(pod, names)} must not set runAsUser=0"
    return Violation("runAsUser=0", detail) if pod or names else None


def _seccomp_missing(spec: PodSpec) -> Violation | None:
    unconfined = _seccomp_unconfined(spec)
    if unconfined is not None:
        return unconfined
    if spec.security_context is not None and spec.security_context.seccomp_profile is not None:
        return None
    names = [name for name, context in _contexts(spec) if context.seccomp_profile is None]
    detail = (
        f"pod or {_who(names)} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost"'
    )
    return Violation("seccompProfile", detail) if names else None


def _unless_windows(check: Check) -> Check:
    """Return the check for all pods but those that say that they are for Windows."""
    return lambda spec: None if spec.os is not None and spec.os.name == "windows" else check(spec)


def _unless_user_namespace(check: Check) -> Check:
    """Return the check for all pods but those with users of their own."""
    return lambda spec: None if spec.host_users is False else check(spec)


_BASELINE: dict[str, Versions] = {
    "appArmorProfile": ((0, _app_armor),),
    "capabilities_baseline": ((0, _capabilities),),
    "hostNamespaces": ((0, _host_namespaces),),
    "hostPathVolumes": ((0, _host_paths),),
    "hostPorts": ((0, _host_ports),),
    "hostProbesAndHostLifecycle": ((34, _probe_hosts),),
    "privileged": ((0, _privileged),),
    "procMount": ((0, _proc_mount), (35, _unless_user_namespace(_proc_mount))),
    "seLinuxOptions": (
        (0, partial(_se_linux, allowed=SELINUX_TYPES)),
        (31, partial(_se_linux, allowed=SELINUX_TYPES_31)),
    ),
    "seccompProfile_baseline": ((19, _seccomp_unconfined),),
    "sysctls": (
        (0, partial(_sysctls, allowed=SAFE_SYSCTLS)),
        (27, partial(_sysctls, allowed=SAFE_SYSCTLS_27)),
        (29, partial(_sysctls, allowed=SAFE_SYSCTLS_29)),
        (32, partial(_sysctls, allowed=SAFE_SYSCTLS_32)),
    ),
    "windowsHostProcess": ((0, _host_process),),
}
_RESTRICTED: dict[str, Versions] = {
    "allowPrivilegeEscalation": ((8, _escalation), (25, _unless_windows(_escalation))),
    "capabilities_restricted": (
        (22, _restricted_capabilities),
        (25, _unless_windows(_restricted_capabilities)),
    ),
    "procMount_restricted": ((35, _proc_mount),),
    "restrictedVolumes": ((0, _volume_types),),
    "runAsNonRoot": ((0, _non_root), (35, _unless_user_namespace(_non_root))),
    "runAsUser": ((23, _root_user), (35, _unless_user_namespace(_root_user))),
    "seccompProfile_restricted": ((19, _seccomp_missing), (25, _unless_windows(_seccomp_missing))),
}
_REPLACED = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}
"""Checks of the baseline that a stricter one of *restricted* contains, by its name."""

NEWEST = max(since for checks in (_BASELINE, _RESTRICTED) for each in checks.values() for since, _ in each)
"""The last minor version that changed a check."""
