"""Options of a node under the names of the kubelet's flags, and the fields that they set. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from msgspec import Struct

from podling.api.core_v1 import Taint
from podling.machinery.durations import seconds_of
from podling.machinery.feature_gates import gate_problems, parse_gates
from podling.machinery.kubelet_labels import OWN_DOMAINS, OWN_LABELS, is_foreign
from podling.machinery.names import label_value_errors, qualified_name_errors

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class NodeOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The options as texts; an empty one, or None, says nothing."""

    kubelet_config: str = ""
    """The file of the kubelet's configuration."""
    config_dir: str = ""
    """The directory of drop-ins that are merged into it."""
    kubelet_document: str = ""
    """The kubelet's configuration from the cluster's, as JSON, in place of a file."""
    fail_swap_on: bool | None = None
    feature_gates: str = ""
    node_external_ip: str = ""
    node_labels: str = ""
    node_status_update_frequency: str = ""
    register_node: bool | None = None
    register_with_taints: str = ""


def settings_of_options(options: NodeOptions, from_file: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``KubeletConfig`` that file and options set: an option wins, gates are merged.

    Raises ``ValueError`` in the kubelet's words.
    """
    settings = dict(from_file)
    if options.feature_gates:
        chosen = {**settings.get("feature_gates", {}), **parse_gates(options.feature_gates)}
        if problems := gate_problems(chosen):
            raise ValueError("; ".join(problems))
        settings["feature_gates"] = chosen
    if options.fail_swap_on is not None:
        settings["fail_swap_on"] = options.fail_swap_on
    if options.node_external_ip:
        settings["external_addresses"] = parse_addresses(options.node_external_ip)
    if options.node_labels:
        settings["node_labels"] = parse_labels(options.node_labels)
    if options.register_with_taints:
        settings["register_with_taints"] = parse_taints(options.register_with_taints)
    if options.register_node is not None:
        settings["register_node"] = options.register_node
    if options.node_status_update_frequency:
        seconds = seconds_of(options.node_status_update_frequency)
        if seconds <= 0:
            raise ValueError(
                f"--node-status-update-frequency {options.node_status_update_frequency} is not positive"
            )
        settings["node_status_update_frequency"] = seconds
        if "node_status_report_frequency" not in from_file:
            settings["node_status_report_frequency"] = seconds
    return settings


def parse_addresses(text: str) -> tuple[str, ...]:
    """Return the addresses of ``--node-external-ip``, in their usual form. Raises ``ValueError``."""
    try:
        found = tuple(str(ip_address(each.strip())) for each in text.split(","))
    except ValueError:
        raise ValueError(f'invalid --node-external-ip "{text}": it names IP addresses') from None
    if len(set(found)) < len(found):
        raise ValueError(f'invalid --node-external-ip "{text}": an address is there twice')
    return found


def parse_labels(text: str) -> dict[str, str]:
    """Return the labels of ``--node-labels`` (``ValidateKubeletFlags``). Raises ``ValueError``."""
    labels = {}
    for pair in text.split(","):
        key, separator, value = pair.partition("=")
        if not separator:
            raise ValueError("malformed pair, expect string=string")
        labels[key.strip()] = value.strip()
    unknown = sorted(key for key in labels if is_foreign(key))
    if unknown:
        raise ValueError(
            "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: "
            f"[{' '.join(unknown)}]\n"
            f"--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix "
            f"({', '.join(OWN_DOMAINS)}) or be in the specifically allowed set "
            f"({', '.join(sorted(OWN_LABELS))})"
        )
    invalid = [
        f"'{part}' - {', '.join(errors)}"
        for key, value in labels.items()
        for part, errors in ((key, qualified_name_errors(key)), (value, label_value_errors(value)))
        if errors
    ]
    if invalid:
        raise ValueError(f"invalid node labels: {'; '.join(invalid)}")
    return labels


def parse_taints(text: str) -> tuple[Taint, ...]:
    """Return the taints of ``--register-with-taints`` (``pkg/util/taints``). Raises ``ValueError``."""
    taints = tuple(_taint(spec) for spec in text.split(","))
    seen = set()
    for taint in taints:
        if (taint.key, taint.effect) in seen:
            shown = f"{{{taint.key} {taint.value} {taint.effect} <nil>}}"
            raise ValueError(f"duplicated taints with the same key and effect: {shown}")
        seen.add((taint.key, taint.effect))
    return taints


def _taint(spec: str) -> Taint:
    parts = spec.split(":")
    if len(parts) != 2 or parts[0].count("=") > 1:
        raise ValueError(f"invalid taint spec: {spec}")
    key, _, value = parts[0].partition("=")
    if parts[1] not in EFFECTS:
        raise ValueError(f"invalid taint effect: {parts[1]}, unsupported taint effect")
    errors = label_value_errors(value) or qualified_name_errors(key)
    if errors:
        raise ValueError(f"invalid taint spec: {spec}, {'; '.join(errors)}")
    return Taint(key=key, value=value, effect=parts[1])
