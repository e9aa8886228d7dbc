"""Texts of failures, as tables."""

from __future__ import annotations

import errno
import os

import pytest

from podling.kubelet.failures import os_text, rpc_text
from podling.runtime.failures import DeadlineExceeded, RuntimeFailure


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x"), "/data/x: no space left on device"),
        (OSError(errno.EIO, os.strerror(errno.EIO)), "input/output error"),
        (OSError("Only a text"), "only a text"),
        (TimeoutError(), "timeouterror"),
    ],
)
def test_os_errors_read_as_in_kubernetes(error: OSError, text: str) -> None:
    assert os_text(error) == text


def test_missed_deadline_has_its_grpc_code() -> None:
    assert rpc_text(RuntimeFailure("no such image")) == "no such image"
    assert rpc_text(DeadlineExceeded()).startswith("rpc error: code = DeadlineExceeded desc = ")
