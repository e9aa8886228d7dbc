"""Records in their encoded form, and the labels of endpoints."""

from __future__ import annotations

import msgspec
import pytest

from podling.network.dns.records import address_label, encode_records
from tests.support.dns_records import SERVICES, decode_records, headless


@pytest.mark.parametrize("records", SERVICES, ids=lambda records: records.name)
def test_records_survive_their_encoding(records: object) -> None:
    assert decode_records(encode_records(records)) == records  # type: ignore[arg-type]


def test_something_else_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_records(b"\x81\xa1a\x01")


@pytest.mark.parametrize(
    ("ip", "label"),
    [("10.0.0.1", "10-0-0-1"), ("fd00::1", "fd00--1"), ("fd00::", "fd00--0"), ("1:2::3:4", "1-2--3-4")],
)
def test_label_follows_from_the_address(ip: str, label: str) -> None:
    assert address_label(ip) == label


def test_service_without_addresses_is_headless() -> None:
    found = {records.name for records in SERVICES if records.headless}
    assert found == {"hdls1", "hdlsprtls", "hdlsnone"}
    assert headless("x").key == "testns/x"
