"""Writing an object's status, when the object may be gone by now."""

from __future__ import annotations

from typing import TypeVar

from podling.client.base import ApiObject, Client
from podling.machinery.errors import is_not_found

T = TypeVar("T", bound=ApiObject)


async def write_status(client: Client, obj: T) -> T:
    """Write the status of ``obj``; returns it as stored, or as given if it does not exist any more.

    What is gone needs no status: that is no failure, and its deletion is seen soon enough.
    """
    try:
        return await client.update(obj, subresource="status")
    except Exception as error:
        if is_not_found(error):
            return obj
        raise
