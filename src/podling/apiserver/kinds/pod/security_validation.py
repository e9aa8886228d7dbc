"""Validation of the security contexts of pods and containers.

Upstream: ``ValidateSecurityContext``, ``validatePodSpecSecurityContext`` and their neighbours in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

import re

from podling.api.core_v1 import (
    AppArmorProfile,
    PodSecurityContext,
    PodSpec,
    SeccompProfile,
    SecurityContext,
    Sysctl,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.pod_scope import PodScope, each_container
from podling.apiserver.kinds.pod.windows_validation import validate_windows_options
from podling.machinery import fields
from podling.machinery.fields import Path

SYSCTL_MAX_LENGTH = 253
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$"
_SYSCTL_TEXT = f"must have at most {SYSCTL_MAX_LENGTH} characters and match regex {_SYSCTL}"

_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_MAX_PROFILE_LENGTH = 4095
_NOTHING_SET = PodSecurityContext()


def validate_security_context(path: Path, context: SecurityContext, scope: PodScope) -> Errors:
    """Return the errors in a container's security context."""
    errors = checks.numeric_id(path.child("runAsUser"), context.run_as_user)
    errors += checks.numeric_id(path.child("runAsGroup"), context.run_as_group)
    errors += checks.one_of_if_set(path.child("procMount"), context.proc_mount, ("Default", "Unmasked"))
    if context.proc_mount == "Unmasked" and scope.host_users:
        text = "`hostUsers` must be false to use `Unmasked`"
        errors.append(fields.invalid(path.child("procMount"), context.proc_mount, text))
    errors += _seccomp_errors(path.child("seccompProfile"), context.seccomp_profile)
    if context.allow_privilege_escalation is False:
        errors += _escalation_errors(path, context)
    errors += _windows_option_errors(path, context, scope)
    return errors + validate_app_armor(path.child("appArmorProfile"), context.app_armor_profile)


def _windows_option_errors(
    path: Path, context: SecurityContext | PodSecurityContext, scope: PodScope
) -> Errors:
    if context.windows_options is None:
        return []
    scope.windows_options = True
    return validate_windows_options(path.child("windowsOptions"), context.windows_options)


def _escalation_errors(path: Path, context: SecurityContext) -> Errors:
    errors: Errors = []
    if context.privileged:
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(fields.invalid(path, context, text))
    if context.capabilities is not None and "CAP_SYS_ADMIN" in context.capabilities.add:
        text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        errors.append(fields.invalid(path, context, text))
    return errors


def validate_pod_security_context(path: Path, scope: PodScope) -> Errors:
    """Return the errors in the pod's security context and related fields of the spec at ``path``."""
    spec, context = scope.spec, scope.spec.security_context
    here = path.child("securityContext")
    if context is None or context == _NOTHING_SET:
        return _shared_process_errors(here, spec)
    errors = checks.numeric_id(here.child("fsGroup"), context.fs_group)
    errors += checks.numeric_id(here.child("runAsUser"), context.run_as_user)
    errors += checks.numeric_id(here.child("runAsGroup"), context.run_as_group)
    for position, group in enumerate(context.supplemental_groups):
        errors += checks.numeric_id(here.child("supplementalGroups").index(position), group)
    errors += _shared_process_errors(here, spec)
    errors += _sysctl_errors(here.child("sysctls"), context.sysctls, spec)
    where = here.child("fsGroupChangePolicy")
    errors += checks.one_of_if_set(where, context.fs_group_change_policy, ("Always", "OnRootMismatch"))
    errors += _seccomp_errors(here.child("seccompProfile"), context.seccomp_profile)
    errors += _windows_option_errors(here, context, scope)
    errors += validate_app_armor(here.child("appArmorProfile"), context.app_armor_profile)
    return errors + _policy_errors(here, context)


def _shared_process_errors(path: Path, spec: PodSpec) -> Errors:
    if not (spec.share_process_namespace and spec.host_pid):
        return []
    text = "ShareProcessNamespace and HostPID cannot both be enabled"
    return [fields.invalid(path.child("shareProcessNamespace"), True, text)]


def _policy_errors(path: Path, context: PodSecurityContext) -> Errors:
    groups, labels = context.supplemental_groups_policy, context.se_linux_change_policy
    errors = checks.one_of_if_set(path.child("supplementalGroupsPolicy"), groups, ("Merge", "Strict"))
    where = path.child("seLinuxChangePolicy")
    return errors + checks.one_of_if_set(where, labels, ("MountOption", "Recursive"))


def _sysctl_errors(path: Path, sysctls: tuple[Sysctl, ...], spec: PodSpec) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, sysctl in enumerate(sysctls):
        here, name = path.index(position).child("name"), sysctl.name
        if not name:
            errors.append(fields.required(here))
        elif len(name) > SYSCTL_MAX_LENGTH or not re.fullmatch(_SYSCTL, name):
            errors.append(fields.invalid(here, name, _SYSCTL_TEXT))
        elif name in seen:
            errors.append(fields.duplicate(here, name))
        seen.add(name)
        dotted = name.replace("/", ".")
        if spec.host_network and dotted.startswith("net."):
            errors.append(fields.invalid(here, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.host_ipc and (dotted.startswith(_IPC_SYSCTLS) or dotted == "kernel.sem"):
            errors.append(fields.invalid(here, name, "may not be specified when 'hostIPC' is true"))
    return errors


def _seccomp_errors(path: Path, profile: SeccompProfile | None) -> Errors:
    if profile is None:
        return []
    errors = _profile_type_errors(path.child("type"), profile.type, "seccompProfile")
    here = path.child("localhostProfile")
    if profile.type != "Localhost":
        if profile.localhost_profile is not None:
            errors.append(fields.invalid(here, profile, "can only be set when seccomp type is Localhost"))
    elif profile.localhost_profile is None:
        errors.append(fields.required(here, "must be set when seccomp type is Localhost"))
    else:
        errors += checks.local_descending_path(here, profile.localhost_profile)
    return errors


def _profile_type_errors(path: Path, type_: str, field: str) -> Errors:
    if not type_:
        return [fields.required(path, f"type is required when {field} is set")]
    return checks.one_of(path, type_, _PROFILE_TYPES)


def validate_app_armor(path: Path, profile: AppArmorProfile | None) -> Errors:
    if profile is None:
        return []
    errors = _profile_type_errors(path.child("type"), profile.type, "appArmorProfile")
    here, name = path.child("localhostProfile"), profile.localhost_profile
    if profile.type == "Localhost":
        if not name:
            errors.append(fields.required(here, "must be set when AppArmor type is Localhost"))
        elif name != name.strip():
            errors.append(fields.invalid(here, name, "must not be padded with whitespace"))
        if name is not None and len(name.encode()) > _MAX_PROFILE_LENGTH:
            errors.append(fields.too_long(here, _MAX_PROFILE_LENGTH))
    elif profile.type in _PROFILE_TYPES and name is not None:
        errors.append(fields.invalid(here, name, "can only be set when AppArmor type is Localhost"))
    return errors


def validate_host_users(path: Path, spec: PodSpec) -> Errors:
    """Return errors for host namespaces of a pod with user IDs of its own (``hostUsers: false``).

    The spelling of two of the fields is Kubernetes'.
    """
    text = "when `hostUsers` is false"
    shared = (("hostNetwork", spec.host_network), ("HostPID", spec.host_pid), ("HostIPC", spec.host_ipc))
    errors = [fields.forbidden(path.child(name), text) for name, used in shared if used]
    return errors + [
        fields.forbidden(here.child("volumeDevices"), text)
        for container, here in each_container(spec, path)
        if container.volume_devices
    ]
