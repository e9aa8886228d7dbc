"""The error of a cluster that cannot start, and its text for every known cause."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from podling.apiserver.auth.pki import PkiDamaged
from podling.kubelet.configuration.refused import ConfigurationRefused
from podling.machinery.errors import ApiError
from podling.runtime.base import RuntimeFailure
from podling.store.base import StoreError


class StartFailure(Exception):
    """The cluster cannot start; the text is one line that says what to do."""


@contextmanager
def start_failures() -> Iterator[None]:
    """Raise ``StartFailure`` in place of the errors that keep a cluster from starting."""
    try:
        yield
    except RuntimeFailure as error:
        raise StartFailure(f"{error}; 'podling doctor' says what to do") from error
    except (ApiError, ConfigurationRefused, StoreError, PkiDamaged, OSError) as error:
        raise StartFailure(str(error)) from error
