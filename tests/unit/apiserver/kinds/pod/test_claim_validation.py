"""Tests of the validation of claim specs."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import PersistentVolumeClaimSpec
from podling.apiserver.kinds.pod.claim_validation import access_mode_errors, claim_warnings
from podling.machinery.encoding import codec
from podling.machinery.fields import Path
from tests.support.causes import Cause, causes, forbidden, unsupported

MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (("ReadWriteOnce", "ReadOnlyMany"), []),
        (("Tape",), [unsupported("m", "Tape", *MODES)]),
        (("ReadWriteOncePod",), []),
        (
            ("ReadWriteOncePod", "ReadWriteOnce"),
            [forbidden("m", "may not use ReadWriteOncePod with other access modes")],
        ),
    ],
)
def test_access_modes_are_known_and_compatible(modes: tuple[str, ...], expected: list[Cause]) -> None:
    assert causes(access_mode_errors(Path("m"), modes)) == expected


def test_fraction_of_a_byte_warns() -> None:
    plain = {"resources": {"requests": {"storage": "100m"}, "limits": {"storage": "1Gi"}}}
    spec = codec.convert(plain, PersistentVolumeClaimSpec)[0]
    assert claim_warnings(Path("spec"), spec) == [
        'spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer'
    ]
