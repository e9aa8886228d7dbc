"""Tests of the validation of signer names and bundle names."""

from __future__ import annotations

import pytest

from podling.apiserver.kinds.common.signer_names import bundle_name_errors, signer_name_errors
from podling.machinery.fields import Path
from tests.support.causes import LABEL_TEXT, SUBDOMAIN_TEXT, Cause, causes, invalid, required, too_long

FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
SEGMENTS = "should be a domain with at least two segments separated by dots"
NO_SIGNER = 'ClusterTrustBundle without signer name must not have ":" in its name'
LONG = "a" * 60


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("example.com/serving", []),
        ("", [required("s")]),
        ("example.com", [invalid("s", '"example.com"', FORM)]),
        ("example.com/a/b", [invalid("s", '"example.com/a/b"', FORM)]),
        ("example/a", [invalid("s", '"example"', SEGMENTS)]),
        ("A.B/c", [invalid("s", '"A.B"', f'validating label "A": {LABEL_TEXT}')]),
        ("a.b/C.D", [invalid("s", '"C.D"', f'validating label "C": {SUBDOMAIN_TEXT}')]),
        (f"a.b/{'.'.join([LONG] * 10)}", [too_long("s", 571)]),
    ],
)
def test_signer_name_is_domain_and_path(name: str, expected: list[Cause]) -> None:
    assert causes(signer_name_errors(Path("s"), name)) == expected


@pytest.mark.parametrize(
    ("name", "problem"),
    [("plain", ""), ("a.b:c:d", ""), ("a:b", NO_SIGNER), ("a.b:c:D", SUBDOMAIN_TEXT)],
)
def test_bundle_name_has_a_signer_or_no_colon(name: str, problem: str) -> None:
    text = f"not a valid clustertrustbundlename: {problem}"
    expected = [invalid("b", f'"{name}"', text)] if problem else []
    assert causes(bundle_name_errors(Path("b"), name)) == expected
