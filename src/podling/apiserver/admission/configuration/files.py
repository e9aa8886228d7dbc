"""Reads an ``AdmissionConfiguration`` from a file or from a section of a cluster's configuration.

Documents are decoded strictly, and what would have no effect is refused. Upstream:
``ReadAdmissionConfiguration`` and ``InitPlugin`` in ``k8s.io/apiserver/pkg/admission``, and the
configurations of the plugins.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, structs

from podling.apiserver.admission.configuration.types import (
    DEFAULT_SETTINGS,
    AdmissionConfiguration,
    AdmissionPluginConfiguration,
    PluginSettings,
    PodSecurityConfiguration,
    ResourceQuotaConfiguration,
)
from podling.apiserver.admission.configuration.validation import pod_security_errors, quota_errors
from podling.apiserver.admission.registry import default_plugins
from podling.machinery import fields
from podling.machinery.encoding.bodies import YAML, Body, read_body
from podling.machinery.encoding.intake import read
from podling.machinery.encoding.mismatch import Mismatch
from podling.machinery.errors import ApiError

T = TypeVar("T", bound=Struct)

_KINDS: dict[type[Struct], frozenset[tuple[str, str]]] = {
    AdmissionConfiguration: frozenset({
        ("apiserver.config.k8s.io/v1", "AdmissionConfiguration"),
        ("apiserver.k8s.io/v1alpha1", "AdmissionConfiguration"),
    }),
    ResourceQuotaConfiguration: frozenset({
        ("apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration"),
        ("resourcequota.admission.k8s.io/v1beta1", "Configuration"),
        ("resourcequota.admission.k8s.io/v1alpha1", "Configuration"),
    }),
    PodSecurityConfiguration: frozenset(
        (f"pod-security.admission.config.k8s.io/{version}", "PodSecurityConfiguration")
        for version in ("v1", "v1beta1", "v1alpha1")
    ),
}  # fmt: skip
"""The versions and kinds under which each type may be written."""


class ConfigurationRefused(ValueError):
    """A configuration of admission cannot be used; the text names the file and the reasons."""


class _Document(NamedTuple):
    body: Body
    text: str


def load(file: Path) -> PluginSettings:
    """Return the plugins' configurations that a file leads to. Raises ``ConfigurationRefused``."""
    try:
        document = _document(file)
    except OSError as error:
        why = f'unable to read admission control configuration from "{file}" [{_in_go(file, error)}]'
        raise _unreadable(str(file), why) from error
    except ApiError as error:
        raise _unreadable(str(file), str(error)) from error
    return _settings(document, file.absolute().parent, str(file))


def settings_of(plain: Any, folder: Path, source: str) -> PluginSettings:
    """Return the plugins' configurations of plain data; files are sought in ``folder``.

    Raises ``ConfigurationRefused``.
    """
    return _settings(_Document(Body(plain), _json(plain)), folder, source)


def _settings(document: _Document, folder: Path, source: str) -> PluginSettings:
    try:
        found = _decoded(document, AdmissionConfiguration)
    except (ApiError, Mismatch, ValueError) as error:
        raise _unreadable(source, str(error)) from error
    known = {plugin.name for plugin in default_plugins()}
    settings, seen = DEFAULT_SETTINGS, set[str]()
    for number, entry in enumerate(found.plugins):
        name = entry.name
        if name not in known:
            raise _refused(source, f"unknown admission plugin: {name}")
        if name in seen:
            path = fields.Path("plugins").index(number).child("name")
            raise _unreadable(source, str(fields.duplicate(path, name)))
        seen.add(name)
        try:
            given = _plugin_document(entry, folder)
            if given is not None:
                settings = _CONFIGURED.get(name, _without_configuration)(settings, given)
        except _Invalid as error:
            raise _refused(source, str(error)) from error
        except (ApiError, Mismatch, ValueError) as error:
            raise _refused(source, f'couldn\'t init admission plugin "{name}": {error}') from error
    return settings


def _refused(source: str, why: str) -> ConfigurationRefused:
    return ConfigurationRefused(f"failed to apply admission: {source}: {why}")


def _unreadable(source: str, why: str) -> ConfigurationRefused:
    return _refused(source, f"failed to read plugin config: {why}")


class _Invalid(Exception):
    """A configuration that was read cannot be used; the text is all of the reason."""


def _with_quota(settings: PluginSettings, given: _Document) -> PluginSettings:
    found = _decoded(given, ResourceQuotaConfiguration)
    if wrong := list(quota_errors(found)):
        raise ValueError(fields.aggregate(wrong))
    return structs.replace(settings, resource_quota=found)


def _with_pod_security(settings: PluginSettings, given: _Document) -> PluginSettings:
    if not given.text:
        return settings
    found = _decoded(given, PodSecurityConfiguration)
    empty = {
        each.name: each.default
        for each in structs.fields(found.defaults)
        if not getattr(found.defaults, each.name)
    }
    found = structs.replace(found, defaults=structs.replace(found.defaults, **empty))
    if wrong := list(pod_security_errors(found)):
        why = fields.aggregate(wrong)
        raise _Invalid(f'failed to initialize admission plugin "PodSecurity": PodSecurity invalid: {why}')
    return structs.replace(settings, pod_security=found)


def _without_configuration(settings: PluginSettings, given: _Document) -> PluginSettings:
    raise ValueError("it takes no configuration")


_CONFIGURED: dict[str, Callable[[PluginSettings, _Document], PluginSettings]] = {
    "PodSecurity": _with_pod_security,
    "ResourceQuota": _with_quota,
}


def _plugin_document(entry: AdmissionPluginConfiguration, folder: Path) -> _Document | None:
    """Return a plugin's configuration: the object, else the file. Raises ``ApiError`` and ``_Invalid``."""
    if entry.configuration is not None:
        return _Document(Body(entry.configuration), _json(entry.configuration))
    if not entry.path:
        return None
    file = folder / entry.path
    try:
        return _document(file)
    except OSError as error:
        why = f"Couldn't open admission plugin configuration {file}: {_in_go(file, error)}"
        raise _Invalid(why) from error


def _document(file: Path) -> _Document:
    """Return what is in a file. Raises ``OSError`` and ``ApiError``."""
    data = file.read_bytes()
    return _Document(read_body(data, YAML), data.decode(errors="replace"))


def _decoded(document: _Document, type_: type[T]) -> T:
    """Return the object of a document. Raises ``Mismatch``."""
    plain = document.body.value
    for key, name in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not isinstance(plain, dict) or not plain.get(key):
            raise Mismatch(f"Object '{name}' is missing in '{document.text}'")
    version, kind = str(plain["apiVersion"]), str(plain["kind"])
    if (version, kind) not in _KINDS[type_]:
        raise Mismatch(f'no kind "{kind}" is registered for version "{version}"')
    group, newest, own = type_.group_version_kind  # type: ignore[attr-defined]
    body = structs.replace(document.body, value={**plain, "apiVersion": f"{group}/{newest}", "kind": own})
    found, _ = read(body, type_, "Strict")
    return found


def _json(plain: Any) -> str:
    return json.dumps(plain, separators=(",", ":"), sort_keys=True)


def _in_go(file: Path, error: OSError) -> str:
    return f"open {file}: {(error.strerror or str(error)).lower()}"
