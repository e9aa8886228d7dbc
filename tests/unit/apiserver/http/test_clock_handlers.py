"""Winding the clock of a cluster over HTTP."""

from __future__ import annotations

import asyncio

import aiohttp

from podling import clock
from podling.apiserver.flowcontrol.bootstrap_controller import ConfigurationProducer
from podling.sim.loop import EPOCH
from podling.sim.wound_loop import WoundLoop
from podling.winding import Winding
from tests.support.served_here import TOKEN, serving

LONG_AFTER = 3600.0


def test_winding_may_take_longer_than_other_requests() -> None:
    """A day of a cluster with work can take minutes of the machine."""

    async def wind(port: int) -> tuple[int, str]:
        url, headers = f"http://127.0.0.1:{port}/podling/clock/advance", {"Authorization": f"Bearer {TOKEN}"}
        async with aiohttp.request("POST", url, json={"seconds": 60}, headers=headers) as answer:
            return answer.status, await answer.text()

    async def main() -> tuple[int, str]:
        winding, at_work = clock.wound_clock(), clock.hold()  # the clock stands still until it ends
        assert isinstance(winding, Winding)
        assert at_work is not None
        async with serving(TOKEN) as (api, port):
            await ConfigurationProducer(api.client(), api.flows).reconcile()
            answer = asyncio.ensure_future(wind(port))
            while winding.status().mode != "winding":
                await clock.machine_sleep(0)
            api.fairness.end_late(clock.machine_monotonic() + LONG_AFTER)
            at_work.cancel()
            return await answer

    with asyncio.Runner(loop_factory=lambda: WoundLoop(EPOCH, seed=1)) as runner:
        status, text = runner.run(main())
    assert status == 200, text
