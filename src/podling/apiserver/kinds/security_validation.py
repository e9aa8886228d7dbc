"""Validation of security contexts, of the pod and of its containers.

Upstream: ``ValidateSecurityContext``, ``validatePodSpecSecurityContext`` and their neighbours in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

import re

from podling.api.core_v1 import (
    AppArmorProfile,
    PodOS,
    PodSecurityContext,
    PodSpec,
    SeccompProfile,
    SecurityContext,
    Sysctl,
    WindowsSecurityContextOptions,
)
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.pod_scope import PodScope, each_container
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
    """A container's security context."""
    errors = checks.numeric_id(path.child("runAsUser"), context.run_as_user)
    errors += checks.numeric_id(path.child("runAsGroup"), context.run_as_group)
    errors += checks.one_of(path.child("procMount"), context.proc_mount, ("Default", "Unmasked"))
    if context.proc_mount == "Unmasked" and scope.host_users:
        text = "`hostUsers` must be false to use `Unmasked`"
        errors.append(fields.invalid(path.child("procMount"), context.proc_mount, text))
    errors += _seccomp(path.child("seccompProfile"), context.seccomp_profile)
    if context.allow_privilege_escalation is False:
        errors += _escalation(path, context)
    errors += _windows(path.child("windowsOptions"), context.windows_options)
    return errors + _app_armor(path.child("appArmorProfile"), context.app_armor_profile)


def _escalation(path: Path, context: SecurityContext) -> Errors:
    errors: Errors = []
    if context.privileged:
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(fields.invalid(path, context, text))
    if context.capabilities is not None and "CAP_SYS_ADMIN" in context.capabilities.add:
        text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        errors.append(fields.invalid(path, context, text))
    return errors


def validate_pod_security_context(path: Path, spec: PodSpec) -> Errors:
    """The pod's security context, and what of the spec itself belongs to it. ``path`` is the spec's."""
    context = spec.security_context
    here = path.child("securityContext")
    errors: Errors = []
    if spec.share_process_namespace and spec.host_pid:
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(fields.invalid(here.child("shareProcessNamespace"), True, text))
    if context is None or context == _NOTHING_SET:
        return errors
    errors += checks.numeric_id(here.child("fsGroup"), context.fs_group)
    errors += checks.numeric_id(here.child("runAsUser"), context.run_as_user)
    errors += checks.numeric_id(here.child("runAsGroup"), context.run_as_group)
    for position, group in enumerate(context.supplemental_groups):
        errors += checks.numeric_id(here.child("supplementalGroups").index(position), group)
    errors += _sysctls(here.child("sysctls"), context.sysctls, spec)
    errors += _policies(here, context)
    errors += _seccomp(here.child("seccompProfile"), context.seccomp_profile)
    errors += _windows(here.child("windowsOptions"), context.windows_options)
    return errors + _app_armor(here.child("appArmorProfile"), context.app_armor_profile)


def _policies(path: Path, context: PodSecurityContext) -> Errors:
    return (
        checks.one_of(
            path.child("fsGroupChangePolicy"), context.fs_group_change_policy, ("Always", "OnRootMismatch")
        )
        + checks.one_of(
            path.child("supplementalGroupsPolicy"), context.supplemental_groups_policy, ("Merge", "Strict")
        )
        + checks.one_of(
            path.child("seLinuxChangePolicy"), context.se_linux_change_policy, ("MountOption", "Recursive")
        )
    )


def _sysctls(path: Path, sysctls: tuple[Sysctl, ...], spec: PodSpec) -> Errors:
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


def _seccomp(path: Path, profile: SeccompProfile | None) -> Errors:
    if profile is None:
        return []
    errors = _profile_type(path.child("type"), profile.type, "seccompProfile")
    here = path.child("localhostProfile")
    if profile.type != "Localhost":
        if profile.localhost_profile is not None:
            errors.append(fields.invalid(here, profile, "can only be set when seccomp type is Localhost"))
    elif profile.localhost_profile is None:
        errors.append(fields.required(here, "must be set when seccomp type is Localhost"))
    else:
        errors += checks.local_descending_path(here, profile.localhost_profile)
    return errors


def _profile_type(path: Path, type_: str, field: str) -> Errors:
    if not type_:
        return [fields.required(path, f"type is required when {field} is set")]
    return checks.one_of(path, type_, _PROFILE_TYPES)


def _app_armor(path: Path, profile: AppArmorProfile | None) -> Errors:
    if profile is None:
        return []
    errors = _profile_type(path.child("type"), profile.type, "appArmorProfile")
    here, name = path.child("localhostProfile"), profile.localhost_profile
    if profile.type == "Localhost":
        if name is None or (not name.strip() and not name):
            errors.append(fields.required(here, "must be set when AppArmor type is Localhost"))
        elif name != name.strip():
            errors.append(fields.invalid(here, name, "must not be padded with whitespace"))
        if name is not None and len(name) > _MAX_PROFILE_LENGTH:
            errors.append(fields.too_long(here, _MAX_PROFILE_LENGTH))
    elif profile.type in _PROFILE_TYPES and name is not None:
        errors.append(fields.invalid(here, name, "can only be set when AppArmor type is Localhost"))
    return errors


def _windows(path: Path, options: WindowsSecurityContextOptions | None) -> Errors:
    if options is None:
        return []
    errors: Errors = []
    if options.gmsa_credential_spec_name is not None:
        errors += checks.dns_subdomain(
            path.child("gmsaCredentialSpecName"), options.gmsa_credential_spec_name
        )
    if options.gmsa_credential_spec is not None:
        size = len(options.gmsa_credential_spec.encode())
        if not size:
            text = "gmsaCredentialSpec cannot be an empty string"
            errors.append(fields.invalid(path.child("gmsaCredentialSpec"), "", text))
        elif size > 64 * 1024:
            errors.append(fields.too_long(path.child("gmsaCredentialSpec"), 64 * 1024))
    if options.run_as_user_name == "":
        text = "runAsUserName cannot be an empty string"
        errors.append(fields.invalid(path.child("runAsUserName"), "", text))
    return errors


def validate_host_users(path: Path, spec: PodSpec) -> Errors:
    """A pod with user IDs of its own (``hostUsers: false``) cannot share the host's other namespaces."""
    text = "when `hostUsers` is false"
    shared = (("hostNetwork", spec.host_network), ("hostPID", spec.host_pid), ("hostIPC", spec.host_ipc))
    errors = [fields.forbidden(path.child(name), text) for name, used in shared if used]
    for container, here in each_container(spec, path):
        errors += [
            fields.forbidden(here.child("volumeDevices").index(position), text)
            for position in range(len(container.volume_devices))
        ]
    return errors


_NOT_FOR_WINDOWS = "cannot be set for a windows pod"
_LINUX_POD_FIELDS = (("hostUsers", "host_users"), ("hostPID", "host_pid"), ("hostIPC", "host_ipc"),
                     ("shareProcessNamespace", "share_process_namespace"))  # fmt: skip
_LINUX_POD_CONTEXT = (
    ("appArmorProfile", "app_armor_profile"), ("seLinuxOptions", "se_linux_options"),
    ("seccompProfile", "seccomp_profile"), ("fsGroup", "fs_group"),
    ("fsGroupChangePolicy", "fs_group_change_policy"), ("sysctls", "sysctls"), ("runAsUser", "run_as_user"),
    ("runAsGroup", "run_as_group"), ("supplementalGroups", "supplemental_groups"),
    ("supplementalGroupsPolicy", "supplemental_groups_policy"),
    ("seLinuxChangePolicy", "se_linux_change_policy"),
)  # fmt: skip
_LINUX_CONTEXT = (
    ("appArmorProfile", "app_armor_profile"), ("seLinuxOptions", "se_linux_options"),
    ("seccompProfile", "seccomp_profile"), ("capabilities", "capabilities"),
    ("readOnlyRootFilesystem", "read_only_root_filesystem"), ("privileged", "privileged"),
    ("allowPrivilegeEscalation", "allow_privilege_escalation"), ("procMount", "proc_mount"),
    ("runAsUser", "run_as_user"), ("runAsGroup", "run_as_group"),
)  # fmt: skip


def validate_operating_system(path: Path, spec: PodSpec, system: PodOS) -> Errors:
    """``spec.os``, and the fields that only the other operating system has."""
    if not system.name:
        return [fields.required(path.child("os", "name"), "cannot be empty")]
    if system.name not in ("linux", "windows"):
        return [fields.not_supported(path.child("os"), system.name, ("linux", "windows"))]
    if system.name == "windows":
        return _windows_pod(path, spec)
    text = "windows options cannot be set for a linux pod"
    errors: Errors = []
    if spec.security_context is not None and spec.security_context.windows_options is not None:
        errors.append(fields.forbidden(path.child("securityContext", "windowsOptions"), text))
    for container, here in each_container(spec, path):
        if container.security_context is not None and container.security_context.windows_options is not None:
            errors.append(fields.forbidden(here.child("securityContext", "windowsOptions"), text))
    return errors


def _windows_pod(path: Path, spec: PodSpec) -> Errors:
    found = [path.child(name) for name, attribute in _LINUX_POD_FIELDS if getattr(spec, attribute)]
    if spec.security_context is not None:
        context = path.child("securityContext")
        found += [
            context.child(name)
            for name, attribute in _LINUX_POD_CONTEXT
            if getattr(spec.security_context, attribute) not in (None, ())
        ]
    for container, here in each_container(spec, path):
        if container.security_context is not None:
            found += [
                here.child("securityContext", name)
                for name, attribute in _LINUX_CONTEXT
                if getattr(container.security_context, attribute) is not None
            ]
    return [fields.forbidden(where, _NOT_FOR_WINDOWS) for where in found]
