"""Interfaces of the machine, as the kernel lists them."""

from __future__ import annotations

import errno
import sys

import pytest

from podling.network.netlink import interfaces
from tests.support.descriptors import no_descriptors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def test_interface_is_found_by_name() -> None:
    assert interfaces.index_of("lo") > 0
    assert interfaces.index_of("no-such-device") == 0


def test_interface_that_cannot_be_looked_up_is_not_gone() -> None:
    """Taken for gone, a pod's address would be given to another pod."""
    with no_descriptors(), pytest.raises(OSError, match="Too many open files") as caught:
        interfaces.index_of("lo")
    assert caught.value.errno == errno.EMFILE
