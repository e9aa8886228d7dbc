"""Amounts and policies of a ``KubeletConfiguration``: upstream's cases, with the field that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from podling.kubelet.configuration.amounts import amount_problems
from podling.kubelet.configuration.types import KubeletConfiguration
from podling.kubelet.configuration.validation import problems
from podling.machinery.encoding.intake import convert

GRACE = {"evictionSoftGracePeriod": {"memory.available": "30s"}}
NO_QUANTITY = "quantities must match the regular expression"

RIGHT: tuple[dict[str, Any], ...] = (
    {},
    {
        "evictionHard": {"memory.available": "150Mi"},
        "evictionSoft": {"memory.available": "300Mi"},
        **GRACE,
        "evictionMinimumReclaim": {"memory.available": "0"},
    },
    {
        "evictionHard": {"memory.available": "10%"},
        "evictionSoft": {"memory.available": "30%"},
        **GRACE,
        "evictionMinimumReclaim": {"memory.available": "5%"},
    },
    {"evictionHard": {"imagefs.available": "15%", "nodefs.available": "10.5%", "nodefs.inodesFree": "100Mi"}},
    {"evictionHard": {"memory.available": "0%", "pid.available": "100%"}},
    {"systemReserved": {"cpu": "200m", "memory": "1Gi", "ephemeral-storage": "2Gi", "pid": "1000"}},
    {"kubeReserved": {"cpu": "0"}, "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}]},
    {"cpuManagerPolicy": "static", "memoryManagerPolicy": "Static"},
    {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}},
    {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "T", "max-allowable-numa-nodes": "12"}},
)

WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {"evictionHard": {"mem.available": "150Mi"}},
        'evictionHard "mem.available" 150Mi: unsupported eviction',
    ),
    (
        {"evictionHard": {"memory.available": "150Mi", "invalid.foo": "150Mi"}},
        'evictionHard "invalid.foo" 150Mi: unsupported eviction signal invalid.foo',
    ),
    (
        {"evictionHard": {"memory.available": "-150Mi"}},
        'evictionHard "memory.available" -150Mi: eviction threshold memory.available must be positive',
    ),
    ({"evictionHard": {"memory.available": "-15%"}}, "must be >= 0%: -15%"),
    ({"evictionHard": {"memory.available": "101%"}}, "must be <= 100%: 101%"),
    (
        {"evictionHard": {"memory.available": "plenty"}},
        f'evictionHard "memory.available" plenty: {NO_QUANTITY}',
    ),
    ({"evictionHard": {"memory.available": "much%"}}, 'evictionHard "memory.available" much%: '),
    ({"evictionHard": {"memory.available": "nan%"}}, 'evictionHard "memory.available" nan%: '),
    ({"evictionSoft": {"memory.available": "-150Mi"}, **GRACE}, 'evictionSoft "memory.available" -150Mi: '),
    (
        {"evictionSoft": {"memory.available": "150Mi"}},
        "evictionSoftGracePeriod: grace period must be specified for the soft eviction threshold memory",
    ),
    (
        {
            "evictionSoft": {"memory.available": "150Mi"},
            "evictionSoftGracePeriod": {"memory.available": "-30s"},
        },
        "evictionSoftGracePeriod: invalid eviction grace period specified: ",
    ),
    (
        {"evictionSoftGracePeriod": {"memory.available": "soon"}},
        "evictionSoftGracePeriod: time: invalid duration",
    ),
    (
        {"evictionMinimumReclaim": {"memory.available": "-300Mi"}},
        'evictionMinimumReclaim "memory.available" -300Mi',
    ),
    ({"systemReserved": {"gpu": "1"}}, 'systemReserved: cannot reserve "gpu" resource'),
    (
        {"systemReserved": {"cpu": "lots"}},
        f'systemReserved: failed to parse quantity "lots" for "cpu" resource: {NO_QUANTITY}',
    ),
    (
        {"kubeReserved": {"memory": "-1"}},
        'kubeReserved: resource quantity for "memory" cannot be negative: -1',
    ),
    (
        {"reservedMemory": [{"numaNode": 0, "limits": {"memory": "x"}}]},
        'reservedMemory: failed to parse quantity "x" for "memory" resource',
    ),
    ({"cpuManagerPolicy": "generous"}, 'cpuManagerPolicy: unknown policy: "generous"'),
    ({"memoryManagerPolicy": "static"}, 'memoryManagerPolicy: unknown policy: "static"'),
    (
        {"cpuManagerPolicyOptions": {"a": "b"}},
        'cpuManagerPolicyOptions: unknown CPU Manager Policy option: "a"',
    ),
    (
        {"cpuManagerPolicyOptions": {"full-pcpus-only": "perhaps"}},
        'cpuManagerPolicyOptions: bad value for option "full-pcpus-only"',
    ),
    (
        {"topologyManagerPolicyOptions": {"near": "true"}},
        'topologyManagerPolicyOptions: unknown Topology Manager Policy option: "near"',
    ),
    (
        {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "not a boolean"}},
        'topologyManagerPolicyOptions: bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: '
        'parsing "not a boolean": invalid syntax',
    ),
    (
        {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "can't parse to int"}},
        "topologyManagerPolicyOptions: unable to convert policy option to integer "
        '"max-allowable-numa-nodes": strconv.Atoi: parsing "can\'t parse to int": invalid syntax',
    ),
    (
        {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "7"}},
        'topologyManagerPolicyOptions: the minimum value of "max-allowable-numa-nodes" should not be less '
        "than 8",
    ),
)


def configuration(plain: dict[str, Any]) -> KubeletConfiguration:
    return convert(plain, KubeletConfiguration, "Strict")[0]


@pytest.mark.parametrize("plain", RIGHT)
def test_usable_amounts_have_no_problem(plain: dict[str, Any]) -> None:
    assert list(amount_problems(configuration(plain))) == []


@pytest.mark.parametrize(("plain", "text"), WRONG)
def test_unusable_amount_is_reported_with_its_field(plain: dict[str, Any], text: str) -> None:
    (problem,) = amount_problems(configuration(plain))
    assert text in problem
    assert f"invalid configuration: {problem}" in problems(configuration(plain))
