"""MutatingWebhookConfigurations and ValidatingWebhookConfigurations.

A rule about review versions, names or side effects applies to an update only if the stored object satisfies
it. An object accepted under older rules can so still change elsewhere.

Upstream: ``pkg/apis/admissionregistration/validation/validation.go``, ``v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct

from podling.api.admissionregistration_v1 import (
    MutatingWebhook,
    MutatingWebhookConfiguration,
    ValidatingWebhook,
    ValidatingWebhookConfiguration,
    WebhookClientConfig,
)
from podling.api.meta_v1 import LabelSelector
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, map_items
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.common.webhook_clients import client_errors
from podling.apiserver.kinds.extensions.admission_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    condition_errors,
    default_rule,
    rule_errors,
)
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path

REVIEW_VERSIONS = ("v1", "v1beta1")
SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
WEBHOOKS = Path("webhooks")
LONGEST_SECONDS = 30

Webhook = MutatingWebhook | ValidatingWebhook
Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration
W = TypeVar("W", MutatingWebhook, ValidatingWebhook)


class Strictness(Struct, frozen=True):
    """The rules that apply to an update; for a new object all do."""

    recognized_versions: bool = True
    unique_names: bool = True
    no_side_effects: bool = True
    conditions: bool = True


class WebhookConfigurationRules(TableRules[Any]):
    """Rules of MutatingWebhookConfigurations and ValidatingWebhookConfigurations."""

    generation = True
    unconditional_update = False

    def default(self, obj: Configuration) -> Configuration:
        return change(obj, webhooks=map_items(obj.webhooks, _default_webhook))

    def intent(self, obj: Configuration) -> Any:
        return obj.webhooks

    def validate(self, obj: Configuration, context: Context) -> Errors:
        return _webhooks_errors(obj.webhooks, Strictness())

    def validate_update(self, new: Configuration, old: Configuration, context: Context) -> Errors:
        hooks: Sequence[Webhook] = old.webhooks
        titles = [hook.name for hook in hooks]
        before = [hook.match_conditions for hook in hooks]
        strictness = Strictness(
            recognized_versions=all(
                not hook.admission_review_versions or set(hook.admission_review_versions) & {*REVIEW_VERSIONS}
                for hook in hooks
            ),
            unique_names=len(set(titles)) == len(titles),
            no_side_effects=all(hook.side_effects in NO_SIDE_EFFECTS for hook in hooks),
            conditions=[hook.match_conditions for hook in new.webhooks] != before,
        )
        return _webhooks_errors(new.webhooks, strictness)


def _default_webhook(hook: W) -> W:
    hook = fill_absent(
        hook,
        failure_policy="Fail",
        match_policy="Equivalent",
        namespace_selector=LabelSelector(),
        object_selector=LabelSelector(),
        timeout_seconds=10,
    )
    if isinstance(hook, MutatingWebhook):
        hook = fill_absent(hook, reinvocation_policy="Never")
    return change(
        hook, rules=map_items(hook.rules, default_rule), client_config=_default_client(hook.client_config)
    )


def _default_client(config: WebhookClientConfig) -> WebhookClientConfig:
    return change(config, service=config.service and fill_absent(config.service, port=443))


def _webhooks_errors(hooks: Sequence[Webhook], strictness: Strictness) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, hook in enumerate(hooks):
        here = WEBHOOKS.index(position)
        errors += _webhook_errors(here, hook, strictness)
        errors += _version_errors(
            here.child("admissionReviewVersions"), hook.admission_review_versions, strictness
        )
        if strictness.unique_names and hook.name:
            errors += [fields.duplicate(here.child("name"), hook.name)] if hook.name in seen else []
            seen.add(hook.name)
    return errors


def _webhook_errors(path: Path, hook: Webhook, strictness: Strictness) -> Errors:
    errors = _name_errors(path.child("name"), hook.name)
    for position, rule in enumerate(hook.rules):
        errors += rule_errors(path.child("rules").index(position), rule)
    errors += checks.one_of(path.child("failurePolicy"), hook.failure_policy, FAILURE_POLICIES)
    errors += checks.one_of(path.child("matchPolicy"), hook.match_policy, MATCH_POLICIES)
    allowed = NO_SIDE_EFFECTS if strictness.no_side_effects else SIDE_EFFECTS
    where = path.child("sideEffects")
    if not hook.side_effects:
        errors.append(fields.required(where, f"must specify one of {', '.join(allowed)}"))
    errors += checks.one_of(where, hook.side_effects, allowed)
    seconds = hook.timeout_seconds
    if seconds is not None and not 1 <= seconds <= LONGEST_SECONDS:
        text = f"the timeout value must be between 1 and {LONGEST_SECONDS} seconds"
        errors.append(fields.invalid(path.child("timeoutSeconds"), seconds, text))
    errors += label_checks.label_selector(path.child("namespaceSelector"), hook.namespace_selector)
    errors += label_checks.label_selector(path.child("objectSelector"), hook.object_selector)
    if isinstance(hook, MutatingWebhook):
        again = path.child("reinvocationPolicy")
        errors += checks.one_of(again, hook.reinvocation_policy, REINVOCATION_POLICIES)
    errors += client_errors(path.child("clientConfig"), hook.client_config)
    if strictness.conditions:
        errors += condition_errors(path.child("matchConditions"), hook.match_conditions)
    return errors


def _name_errors(path: Path, name: str) -> Errors:
    """Return the errors in a fully qualified name, a domain of at least three parts."""
    if not name:
        return [fields.required(path)]
    problems = names.dns_subdomain_errors(name)
    if problems:
        return [fields.invalid(path, name, ",".join(problems))]
    if name.count(".") < 2:
        text = "should be a domain with at least three segments separated by dots"
        return [fields.invalid(path, name, text)]
    return []


def _version_errors(path: Path, versions: Sequence[str], strictness: Strictness) -> Errors:
    known = ", ".join(REVIEW_VERSIONS)
    if not versions:
        return [fields.required(path, f"must specify one of {known}")]
    errors: Errors = []
    for position, version in enumerate(versions):
        if version in versions[:position]:
            errors.append(fields.invalid(path.index(position), version, "duplicate version"))
            continue
        errors += fields.invalid_each(path.index(position), version, names.dns_1035_label_errors(version))
    if strictness.recognized_versions and not set(versions) & {*REVIEW_VERSIONS}:
        errors.append(fields.invalid(path, versions, f"must include at least one of {known}"))
    return errors
