"""Reads a ``KubeSchedulerConfiguration`` from a file or from a section of a cluster's configuration.

Documents are decoded strictly, the arguments of Kubernetes' plugins included; those of other plugins are
decoded by the plugins. Upstream: ``cmd/kube-scheduler/app/options/configfile.go``, ``DecodeNestedObjects``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from podling.machinery.encoding.bodies import YAML, Body, read_body
from podling.machinery.encoding.intake import read
from podling.machinery.encoding.mismatch import Mismatch
from podling.machinery.errors import ApiError
from podling.machinery.feature_gates import NO_GATES
from podling.machinery.fields import aggregate
from podling.scheduler.configuration.defaults import with_defaults
from podling.scheduler.configuration.plugin_args import ARGS
from podling.scheduler.configuration.support import unsupported
from podling.scheduler.configuration.types import (
    API_VERSION,
    GROUP,
    KIND,
    KubeSchedulerConfiguration,
    PluginConfig,
)
from podling.scheduler.configuration.validation import problems

_STRICT = "strict decoding error: "


class ConfigurationRefused(ValueError):
    """A configuration of the scheduler cannot be used; the text names the file and every reason."""


def load(file: Path, gates: Mapping[str, bool] = NO_GATES) -> KubeSchedulerConfiguration:
    """Return the configuration of a file, defaults filled in. Raises ``ConfigurationRefused``."""
    return configuration_of(document(file), str(file), gates)


def document(file: Path) -> Any:
    """Return the plain data of a file. Raises ``ConfigurationRefused``."""
    try:
        body = read_body(file.read_bytes(), YAML)
    except (OSError, ApiError) as error:
        raise _refused(str(file), str(getattr(error, "strerror", None) or error)) from error
    if body.duplicates:
        raise _refused(str(file), _STRICT + ", ".join(body.duplicates))
    return body.value


def configuration_of(
    plain: Any, source: str, gates: Mapping[str, bool] = NO_GATES
) -> KubeSchedulerConfiguration:
    """Return the configuration that plain data describe. Raises ``ConfigurationRefused``."""
    try:
        found = with_defaults(_decoded(plain))
        wrong = [*problems(found, gates), *unsupported(found)]
    except (ApiError, Mismatch, ValueError) as error:
        raise _refused(source, str(error)) from error
    if wrong:
        raise ConfigurationRefused(
            f"failed to validate scheduler configuration, path: {source}, error: {aggregate(wrong)}"
        )
    return found


def _refused(source: str, why: str) -> ConfigurationRefused:
    return ConfigurationRefused(f"failed to load scheduler config file, path: {source}, error: {why}")


def _decoded(plain: Any) -> KubeSchedulerConfiguration:
    """Return the object. Raises ``Mismatch`` and ``ApiError``."""
    if not isinstance(plain, dict) or not plain.get("kind"):
        raise Mismatch("Object 'Kind' is missing")
    version, kind = plain.get("apiVersion") or "", plain["kind"]
    if (version, kind) != (API_VERSION, KIND):
        raise Mismatch(f'no kind "{kind}" is registered for version "{version}"')
    found, _ = read(Body(plain), KubeSchedulerConfiguration, "Strict")
    strict: list[str] = []
    profiles = []
    for number, profile in enumerate(found.profiles):
        config = tuple(
            _with_args(each, f"decoding .profiles[{number}].pluginConfig[{position}]: ", strict)
            for position, each in enumerate(profile.plugin_config)
        )
        profiles.append(replace(profile, plugin_config=config))
    if strict:
        raise Mismatch(_STRICT + ", ".join(strict))
    return replace(found, profiles=tuple(profiles))


def _with_args(config: PluginConfig, where: str, strict: list[str]) -> PluginConfig:
    """Return the configuration of a plugin with its arguments decoded; notes unknown fields in ``strict``."""
    kind = ARGS.get(config.name)
    if kind is None:
        return config
    plain, expected = config.args or {}, f"{config.name}Args"
    if isinstance(plain, dict):
        said = plain.get("kind") or expected
        group = (plain.get("apiVersion") or API_VERSION).rpartition("/")[0]
        if (said, group) != (expected, GROUP):
            text = f"args for plugin {config.name} were not of type {expected}.{GROUP}, got {said}.{group}"
            raise Mismatch(where + text)
    try:
        args, _ = read(Body(plain), kind, "Strict")
    except Mismatch as error:
        text = f"decoding args for plugin {config.name}: {error}"
        if not str(error).startswith(_STRICT):
            raise Mismatch(where + text) from None
        strict.append(f"{where}{_STRICT}{text}")
        return config
    return replace(config, args=args)
