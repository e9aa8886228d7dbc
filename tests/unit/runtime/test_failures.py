"""Removal of several parts, of which some fail."""

from __future__ import annotations

import pytest

from podling.runtime.failures import DeadlineExceeded, ImageFailure, NotFound, RuntimeFailure, remove_all


async def test_remove_all_goes_on_after_failures_and_raises_the_first() -> None:
    removed = []

    async def remove(name: str, error: Exception | None = None) -> None:
        if error is not None:
            raise error
        removed.append(name)

    parts = [
        remove("a"),
        remove("b", NotFound("b is missing")),
        remove("c", PermissionError(13, "Permission denied")),
        remove("d"),
    ]
    with pytest.raises(RuntimeFailure, match=r"^pod web cannot be removed: b is missing$") as caught:
        await remove_all("pod web", *parts)
    assert removed == ["a", "d"]
    assert isinstance(caught.value.__cause__, NotFound)


async def test_remove_all_hides_no_programming_error() -> None:
    async def fail() -> None:
        raise ValueError("a defect")

    with pytest.raises(ValueError, match="a defect"):
        await remove_all("pod web", fail())


def test_image_failure_is_a_failed_pull_by_default() -> None:
    assert ImageFailure("no").reason == "ErrImagePull"
    assert str(DeadlineExceeded()) == "context deadline exceeded"
