"""The Pod Security policy of a namespace: a level and a version for each mode. Pure.

Upstream: ``staging/src/k8s.io/pod-security-admission/api/helpers.go``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from podling.apiserver.admission.configuration.types import PodSecurityDefaults
from podling.apiserver.admission.pod_security_checks import LATEST, LEVELS, PRIVILEGED, RESTRICTED
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path

PREFIX = "pod-security.kubernetes.io/"
MODES = ("enforce", "audit", "warn")
SAYING = frozenset(f"{PREFIX}{mode}" for mode in MODES)
"""Labels of a namespace that name a level."""

_is_minor_version = re.compile(r"v1\.(0|[1-9][0-9]{0,17})").fullmatch


class LevelVersion(NamedTuple):
    level: str = PRIVILEGED
    version: str = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    def is_equivalent(self, other: LevelVersion) -> bool:
        """Return whether both allow the same: ``privileged`` allows all in every version."""
        return self == other or self.level == other.level == PRIVILEGED


class Policy(NamedTuple):
    enforce: LevelVersion = LevelVersion()
    audit: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()


def is_privileged(modes: tuple[LevelVersion, ...]) -> bool:
    """Return whether none of these modes has anything to say."""
    return all(mode.level == PRIVILEGED for mode in modes)


def default_policy(given: PodSecurityDefaults) -> Policy:
    """Return the policy of namespaces without labels."""
    return Policy(
        LevelVersion(given.enforce, given.enforce_version),
        LevelVersion(given.audit, given.audit_version),
        LevelVersion(given.warn, given.warn_version),
    )


def policy_of(labels: Mapping[str, str], defaults: Policy) -> tuple[Policy, list[FieldError]]:
    """Return the policy of a namespace with these labels, and what is wrong with them.

    Where a level cannot be read, pods are held to ``restricted``, and nothing is said or warned of.
    """
    found: list[LevelVersion] = []
    errors: list[FieldError] = []
    for mode, default in zip(MODES, defaults, strict=True):
        level = labels.get(f"{PREFIX}{mode}")
        if level is None:
            level = default.level
        elif why := level_problem(level):
            errors.append(_wrong(mode, level, why))
            level = RESTRICTED if mode == "enforce" else PRIVILEGED
        version = labels.get(f"{PREFIX}{mode}-version")
        if version is None:
            version = default.version
        elif why := version_problem(version):
            errors.append(_wrong(f"{mode}-version", version, why))
            version = LATEST
        found.append(LevelVersion(level, version))
    return Policy(*found), errors


def _wrong(label: str, value: str, why: str) -> FieldError:
    return fields.invalid(Path("metadata.labels").key(f"{PREFIX}{label}"), value, why)


def level_problem(level: str) -> str:
    """Return the reason why this is no level; empty for one."""
    return "" if level in LEVELS else f"must be one of {', '.join(LEVELS)}"


def version_problem(version: str) -> str:
    """Return the reason why this is no version; empty for one."""
    return "" if version == LATEST or _is_minor_version(version) else 'must be "latest" or "v1.x"'


def is_tightened(new: LevelVersion, old: LevelVersion) -> bool:
    """Return whether pods that an old level allowed may violate the new one."""
    if new == old or new.level == PRIVILEGED:
        return False
    return new.version != old.version or LEVELS.index(new.level) > LEVELS.index(old.level)


def exemption_warning(name: str, policy: Policy, labels: Mapping[str, str], defaults: Policy) -> str:
    """Return the warning for a namespace whose own policy has no effect, as it is exempt; empty for none."""
    same = all(mode.is_equivalent(default) for mode, default in zip(policy, defaults, strict=True))
    if is_privileged(policy) or same:
        return ""
    said = ", ".join(
        f"{mode}={chosen}"
        for mode, chosen in zip(MODES, policy, strict=True)
        if chosen.level != PRIVILEGED and {f"{PREFIX}{mode}", f"{PREFIX}{mode}-version"} & labels.keys()
    )
    return (
        f"namespace {json.dumps(name)} is exempt from Pod Security, and the policy ({said}) will be ignored"
    )
