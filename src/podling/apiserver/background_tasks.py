"""The loops that run beside requests, for as long as there is a store to look at.

Each looks at everything there is and brings it to where it should be, so that a pass that fails costs
nothing but the wait for the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from podling import clock
from podling.client.base import ApiObject
from podling.client.informer import close_watch
from podling.client.local import LocalClient
from podling.machinery.errors import ApiError
from podling.store.base import StoreClosed, StoreError

log = logging.getLogger(__name__)


async def keep_at(look: Callable[[], Awaitable[object]], of: str, *, seconds: float) -> None:
    """Look again and again, until cancelled or the store closes.

    Args:
        look: one pass, with the wait for what makes the next one worth while.
        of: what is looked at, for people who read that a pass has failed.
        seconds: the wait after a pass that failed.
    """
    while True:
        try:
            await look()
        except StoreClosed:
            return
        except (ApiError, StoreError) as error:
            log.warning("%s: %s", of, error)
            await clock.sleep(seconds)


class Selected(NamedTuple):
    """The objects of a kind to wait for: those of a namespace, by a field and a label selector."""

    namespace: str | None = None
    fields: str = ""
    labels: str = ""


EVERY = Selected()


async def changed(
    client: LocalClient,
    kind: type[ApiObject],
    resource_version: str,
    *,
    within: float | None,
    is_round: bool = False,
    selected: Selected = EVERY,
) -> None:
    """Wait until an object of ``kind`` changes after ``resource_version``, or ``within`` seconds are over.

    ``is_round``: the wait of ``within`` is for a round (``clock.sleep_until_round``).
    """
    watch = client.watch(
        kind,
        selected.namespace,
        resource_version=resource_version,
        field_selector=selected.fields,
        label_selector=selected.labels,
    )
    try:
        async with clock.timeout(within, is_round=is_round):
            await anext(aiter(watch), None)
    except TimeoutError:
        pass
    finally:
        await close_watch(watch)
