"""The named formats of Kubernetes' expressions."""

from __future__ import annotations

import pytest

from tests.support.cel_expressions import evaluated

TRUE = """
format.named('dns1123Label').value() == format.dns1123Label() && !format.named('unknown').hasValue()
!format.dns1123Label().validate('my-label-name').hasValue()
!format.dns1123Subdomain().validate('a.b').hasValue()
!format.dns1035Label().validate('a1').hasValue() && !format.qualifiedName().validate('a.b/c').hasValue()
!format.dns1123LabelPrefix().validate('a-').hasValue()
!format.dns1123SubdomainPrefix().validate('a.b.-').hasValue()
!format.dns1035LabelPrefix().validate('my-label-prefix-').hasValue()
!format.labelValue().validate('A_b').hasValue()
!format.uri().validate('http://example.com').hasValue()
!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()
format.byte().validate('aGVsbG8').value() == ['invalid base64']
format.date().validate('2020-01-32').value() == ['invalid date']
format.datetime().validate('2020-01-32T00:00:00Z').value() == ['invalid datetime']
""".strip().splitlines()


@pytest.mark.parametrize("text", TRUE)
def test_named_format_accepts_or_explains(text: str) -> None:
    assert evaluated(text) is True
