"""Options of log requests."""

from __future__ import annotations

import pytest

from podling.kubelet.server.server_logs import parse_log_options
from podling.machinery.moments import EARLIEST

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
SECONDS = (10**12, 10**14, 1 << 62, INT64_MAX)


@pytest.mark.parametrize("seconds", SECONDS)
def test_logs_since_before_the_first_date_are_all_logs(seconds: int) -> None:
    from datetime import UTC, datetime

    options = parse_log_options({"sinceSeconds": str(seconds)}, datetime(2026, 1, 1, tzinfo=UTC))
    assert options.since == EARLIEST
