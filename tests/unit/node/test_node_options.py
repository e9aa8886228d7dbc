"""Options of nodes under the kubelet's names: what they set, and their refusals in the kubelet's words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from podling.api.core_v1 import Taint
from podling.node.node_options import NodeOptions, parse_labels, parse_taints, settings_of_options


@pytest.mark.parametrize(
    ("options", "from_file", "settings"),
    [
        ({}, {"max_pods": 3}, {"max_pods": 3}),
        (
            {"feature_gates": "GracefulNodeShutdownBasedOnPodPriority=false"},
            {"feature_gates": {"CustomCPUCFSQuotaPeriod": True}},
            {
                "feature_gates": {
                    "CustomCPUCFSQuotaPeriod": True,
                    "GracefulNodeShutdownBasedOnPodPriority": False,
                }
            },
        ),
        (
            {"node_external_ip": "192.0.2.9, 2001:DB8::9"},
            {},
            {"external_addresses": ("192.0.2.9", "2001:db8::9")},
        ),
        ({"node_labels": "disk=ssd,rack="}, {}, {"node_labels": {"disk": "ssd", "rack": ""}}),
        ({"register_node": False}, {"register_node": True}, {"register_node": False}),
        (
            {"register_with_taints": "dedicated=web:NoSchedule,gpu:NoExecute"},
            {},
            {
                "register_with_taints": (
                    Taint(key="dedicated", value="web", effect="NoSchedule"),
                    Taint(key="gpu", effect="NoExecute"),
                )
            },
        ),
        ({"fail_swap_on": False}, {"fail_swap_on": True}, {"fail_swap_on": False}),
        (
            {"node_status_update_frequency": "4s"},
            {},
            {"node_status_update_frequency": 4.0, "node_status_report_frequency": 4.0},
        ),
        (
            {"node_status_update_frequency": "4s"},
            {"node_status_report_frequency": 60.0},
            {"node_status_update_frequency": 4.0, "node_status_report_frequency": 60.0},
        ),
    ],
)
def test_option_wins_over_the_file(
    options: dict[str, Any], from_file: dict[str, Any], settings: dict[str, Any]
) -> None:
    assert settings_of_options(NodeOptions(**options), from_file) == settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("disk", "malformed pair, expect string=string"),
        (
            "node-role.kubernetes.io/web=,k8s.io/x=1,a=b",
            "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: "
            "[k8s.io/x node-role.kubernetes.io/web]\n--node-labels in the 'kubernetes.io' namespace must "
            "begin with an allowed prefix (kubelet.kubernetes.io, node.kubernetes.io) or be in the "
            "specifically allowed set (beta.kubernetes.io/arch, beta.kubernetes.io/instance-type, "
            "beta.kubernetes.io/os, failure-domain.beta.kubernetes.io/region, "
            "failure-domain.beta.kubernetes.io/zone, "
            "kubernetes.io/arch, kubernetes.io/hostname, kubernetes.io/os, node.kubernetes.io/instance-type, "
            "topology.kubernetes.io/region, topology.kubernetes.io/zone)",
        ),
        ("a b=c", "invalid node labels: 'a b' - name part must consist of alphanumeric characters"),
    ],
)
def test_label_is_refused_as_the_kubelet_does(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words.partition("\n")[0])) as refused:
        parse_labels(text)
    assert str(refused.value).startswith(words)


def test_label_of_an_allowed_domain_is_taken() -> None:
    text = "topology.kubernetes.io/zone=a,node.kubernetes.io/x=1,kubelet.kubernetes.io/y=2"
    assert len(parse_labels(text)) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dedicated", "invalid taint spec: dedicated"),
        ("a=b=c:NoSchedule", "invalid taint spec: a=b=c:NoSchedule"),
        ("a=b:Never", "invalid taint effect: Never, unsupported taint effect"),
        ("a=b c:NoSchedule", "invalid taint spec: a=b c:NoSchedule, a valid label must be"),
        (
            "a=1:NoSchedule,a=2:NoSchedule",
            "duplicated taints with the same key and effect: {a 2 NoSchedule <nil>}",
        ),
    ],
)
def test_taint_is_refused_as_the_kubelet_does(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words.partition("\n")[0])) as refused:
        parse_taints(text)
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"feature_gates": "NoSuch=true"}, "unrecognized feature gate: NoSuch"),
        ({"feature_gates": "SidecarContainers=false"}, "feature is locked to true"),
        ({"node_external_ip": "here"}, 'invalid --node-external-ip "here": it names IP addresses'),
        ({"node_external_ip": "192.0.2.9,192.0.2.9"}, "an address is there twice"),
        ({"node_status_update_frequency": "soon"}, 'time: invalid duration "soon"'),
        ({"node_status_update_frequency": "0s"}, "--node-status-update-frequency 0s is not positive"),
    ],
)
def test_bad_option_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        settings_of_options(NodeOptions(**options), {})
