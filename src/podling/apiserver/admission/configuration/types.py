"""The types of an admission configuration and of the plugins' configurations in it. Pure.

Upstream: ``types.go`` in ``k8s.io/apiserver/pkg/apis/apiserver/v1``,
``k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/v1`` and
``k8s.io/pod-security-admission/admission/api/v1``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct, field

from podling.api.core_v1 import ScopedResourceSelectorRequirement
from podling.apiserver.admission.pod_security_checks import LATEST, PRIVILEGED


class AdmissionPluginConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The configuration of one plugin: an object, or the path of a file that holds it."""

    name: str = ""
    path: str = ""
    configuration: Any = None


class AdmissionConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    group_version_kind: ClassVar[tuple[str, str, str]] = (
        "apiserver.config.k8s.io",
        "v1",
        "AdmissionConfiguration",
    )

    api_version: str = ""
    kind: str = ""
    plugins: tuple[AdmissionPluginConfiguration, ...] = ()


class LimitedResource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A resource that is consumed only where a quota covers it.

    ``match_contains`` are parts of the names that quotas have for what is consumed, ``match_scopes`` choose
    objects.
    """

    api_group: str = ""
    resource: str = ""
    match_contains: tuple[str, ...] = ()
    match_scopes: tuple[ScopedResourceSelectorRequirement, ...] = ()


class ResourceQuotaConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    group_version_kind: ClassVar[tuple[str, str, str]] = (
        "apiserver.config.k8s.io",
        "v1",
        "ResourceQuotaConfiguration",
    )

    api_version: str = ""
    kind: str = ""
    limited_resources: tuple[LimitedResource, ...] = ()


class PodSecurityDefaults(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The levels and versions of namespaces that have no labels for them."""

    enforce: str = PRIVILEGED
    enforce_version: str = field(name="enforce-version", default=LATEST)
    audit: str = PRIVILEGED
    audit_version: str = field(name="audit-version", default=LATEST)
    warn: str = PRIVILEGED
    warn_version: str = field(name="warn-version", default=LATEST)


class PodSecurityExemptions(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The users, namespaces and runtime classes whose pods are not looked at."""

    usernames: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    runtime_classes: tuple[str, ...] = ()


class PodSecurityConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    group_version_kind: ClassVar[tuple[str, str, str]] = (
        "pod-security.admission.config.k8s.io",
        "v1",
        "PodSecurityConfiguration",
    )

    api_version: str = ""
    kind: str = ""
    defaults: PodSecurityDefaults = field(default_factory=PodSecurityDefaults)
    exemptions: PodSecurityExemptions = field(default_factory=PodSecurityExemptions)


class PluginSettings(Struct, frozen=True):
    """The configurations of the plugins that take one."""

    resource_quota: ResourceQuotaConfiguration = field(default_factory=ResourceQuotaConfiguration)
    pod_security: PodSecurityConfiguration = field(default_factory=PodSecurityConfiguration)


DEFAULT_SETTINGS = PluginSettings()
