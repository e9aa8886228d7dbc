"""Validation of Windows options, and of ``spec.os`` with the fields that it forbids.

No node here runs Windows; such pods are stored and stay pending.

Upstream: ``validateWindowsSecurityContextOptions``, ``validateWindowsHostProcessPod``, ``validateOS``,
``validateLinux`` and ``validateWindows`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

import re

from podling.api.core_v1 import (
    PodOS,
    PodSecurityContext,
    PodSpec,
    SecurityContext,
    WindowsSecurityContextOptions,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.pod_scope import each_container
from podling.machinery import fields
from podling.machinery.fields import Path

SYSTEMS = ("linux", "windows")
LONGEST_CREDENTIAL_SPEC_KIB = 64
LONGEST_DOMAIN = 255
LONGEST_USER = 104

_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_NAME = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_DOTS_AND_SPACES = re.compile(r"[. ]+").fullmatch
_BAD_IN_USER = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search


def validate_windows_options(path: Path, options: WindowsSecurityContextOptions) -> Errors:
    errors: Errors = []
    if options.gmsa_credential_spec_name is not None:
        where = path.child("gmsaCredentialSpecName")
        errors += checks.dns_subdomain(where, options.gmsa_credential_spec_name)
    spec, limit = options.gmsa_credential_spec, LONGEST_CREDENTIAL_SPEC_KIB
    if spec == "":
        text = "gmsaCredentialSpec cannot be an empty string"
        errors.append(fields.invalid(path.child("gmsaCredentialSpec"), spec, text))
    elif spec is not None and len(spec.encode()) > limit * 1024:
        text = f"gmsaCredentialSpec size must be under {limit} KiB"
        errors.append(fields.invalid(path.child("gmsaCredentialSpec"), spec, text))
    if options.run_as_user_name is not None:
        name = options.run_as_user_name
        errors += fields.invalid_each(path.child("runAsUserName"), name, _user_name_problems(name))
    return errors


def _user_name_problems(name: str) -> list[str]:
    """Return the errors in ``DOMAIN\\user``, whose domain is optional."""
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL(name):
        return ["runAsUserName cannot contain control characters"]
    if name.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    found: list[str] = []
    if len(domain.encode()) > LONGEST_DOMAIN:
        found.append(f"runAsUserName's Domain length must be under {LONGEST_DOMAIN + 1} characters")
    if backslash and not _NETBIOS(domain) and not _DNS_NAME(domain):
        found.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("runAsUserName's User cannot be empty")
    elif len(user.encode()) > LONGEST_USER:
        found.append(f"runAsUserName's User length must not be longer than {LONGEST_USER} characters")
    if _DOTS_AND_SPACES(user):
        found.append("runAsUserName's User cannot contain only periods or spaces")
    if _BAD_IN_USER(user):
        listed = '"/\\:;|=,+*?<>@[]'
        found.append(f"runAsUserName's User cannot contain the following characters: {listed}")
    return found


def validate_host_process(path: Path, spec: PodSpec) -> Errors:
    """Return errors unless all containers are host processes on the host's network, or none is."""
    own = _host_process(spec.security_context)
    errors: Errors = []
    meant: list[bool] = []
    for container, here in each_container(spec, path):
        said = _host_process(container.security_context)
        if own is not None and said is not None and own != said:
            where = here.child("securityContext", "windowsOptions", "hostProcess")
            text = f"pod hostProcess value must be identical if both are specified, was {str(own).lower()}"
            errors.append(fields.invalid(where, said, text))
        meant.append(bool(own if said is None else said))
    if not any(meant):
        return errors
    if not all(meant):
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(fields.invalid(path, "", text))
    if not spec.host_network:
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(fields.invalid(path.child("hostNetwork"), False, text))
    return errors


def _host_process(context: PodSecurityContext | SecurityContext | None) -> bool | None:
    if context is None or context.windows_options is None:
        return None
    return context.windows_options.host_process


_POD_FIELDS = (
    ("appArmorProfile", "app_armor_profile"), ("seLinuxOptions", "se_linux_options"),
    ("hostUsers", "host_users"), ("hostPID", "host_pid"), ("hostIPC", "host_ipc"),
    ("seccompProfile", "seccomp_profile"), ("fsGroup", "fs_group"),
    ("fsGroupChangePolicy", "fs_group_change_policy"), ("sysctls", "sysctls"),
    ("shareProcessNamespace", "share_process_namespace"), ("runAsUser", "run_as_user"),
    ("runAsGroup", "run_as_group"), ("supplementalGroups", "supplemental_groups"),
    ("supplementalGroupsPolicy", "supplemental_groups_policy"),
    ("seLinuxChangePolicy", "se_linux_change_policy"),
)  # fmt: skip
"""Fields of the security context and, between them, of the pod itself; in upstream's order."""
_MAY_BE_FALSE = ("hostUsers", "shareProcessNamespace")
_CONTAINER_CONTEXT = (
    ("appArmorProfile", "app_armor_profile"), ("seLinuxOptions", "se_linux_options"),
    ("seccompProfile", "seccomp_profile"), ("capabilities", "capabilities"),
    ("readOnlyRootFilesystem", "read_only_root_filesystem"), ("privileged", "privileged"),
    ("allowPrivilegeEscalation", "allow_privilege_escalation"), ("procMount", "proc_mount"),
    ("runAsUser", "run_as_user"), ("runAsGroup", "run_as_group"),
)  # fmt: skip


def validate_operating_system(path: Path, spec: PodSpec, system: PodOS) -> Errors:
    """Return the errors in ``spec.os``, and in fields of the other operating system."""
    if not system.name:
        return [fields.required(path.child("os", "name"), "cannot be empty")]
    if system.name not in SYSTEMS:
        return [fields.not_supported(path.child("os"), system.name, SYSTEMS)]
    if system.name == "windows":
        text, found = "cannot be set for a windows pod", _linux_fields(path, spec)
    else:
        text, found = "windows options cannot be set for a linux pod", _windows_fields(path, spec)
    return [fields.forbidden(where, text) for where in found]


def _windows_fields(path: Path, spec: PodSpec) -> list[Path]:
    contexts: list[tuple[Path, PodSecurityContext | SecurityContext | None]] = [(path, spec.security_context)]
    contexts += [(here, container.security_context) for container, here in each_container(spec, path)]
    return [
        here.child("securityContext", "windowsOptions")
        for here, context in contexts
        if context is not None and context.windows_options is not None
    ]


def _linux_fields(path: Path, spec: PodSpec) -> list[Path]:
    context = path.child("securityContext")
    found: list[Path] = []
    for name, attribute in _POD_FIELDS:
        if attribute not in PodSpec.__struct_fields__:
            found += [context.child(name)] if _is_set(spec.security_context, attribute) else []
        elif getattr(spec, attribute) or (name in _MAY_BE_FALSE and getattr(spec, attribute) is False):
            found.append(path.child(name))
    for container, here in each_container(spec, path):
        found += [
            here.child("securityContext", name)
            for name, attribute in _CONTAINER_CONTEXT
            if _is_set(container.security_context, attribute)
        ]
    return found


def _is_set(context: PodSecurityContext | SecurityContext | None, attribute: str) -> bool:
    return context is not None and getattr(context, attribute) not in (None, ())
