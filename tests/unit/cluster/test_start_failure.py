"""Errors that keep a cluster from starting become one line that says what to do."""

from __future__ import annotations

import pytest

from podling.apiserver.auth.pki import PkiDamaged
from podling.cluster.start_failure import StartFailure, start_failures
from podling.machinery import errors
from podling.runtime.base import RuntimeFailure
from podling.store.base import StoreError

CASES = [
    (RuntimeFailure("no crun"), "no crun; 'podling doctor' says what to do"),
    (errors.service_unavailable("away"), "away"),
    (StoreError("damaged"), "damaged"),
    (PkiDamaged("half an authority"), "half an authority"),
    (PermissionError(13, "Permission denied", "/data"), "[Errno 13] Permission denied: '/data'"),
]


@pytest.mark.parametrize(("error", "text"), CASES, ids=lambda each: type(each).__name__)
def test_known_cause_is_one_line(error: Exception, text: str) -> None:
    with pytest.raises(StartFailure) as found, start_failures():
        raise error
    assert str(found.value) == text
    assert found.value.__cause__ is error


def test_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), start_failures():
        raise ZeroDivisionError
