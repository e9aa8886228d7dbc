"""Winding the clock of a cluster over HTTP."""

from __future__ import annotations

import asyncio

import aiohttp

from podling.apiserver.flowcontrol.bootstrap_controller import ConfigurationProducer
from podling.apiserver.flowcontrol.filter import LATE_SECONDS
from podling.sim.loop import EPOCH
from podling.sim.wound_loop import WoundLoop
from podling.streaming.listener import Timeouts
from tests.support.served_here import TOKEN, serving


def test_winding_may_take_longer_than_other_requests() -> None:
    """A day of a cluster with work can take minutes of the machine."""

    async def main() -> tuple[int, str]:
        async with serving(TOKEN, timeouts=Timeouts(request=LATE_SECONDS / 10)) as (api, port):
            await ConfigurationProducer(api.client(), api.flows).reconcile()
            url = f"http://127.0.0.1:{port}/podling/clock/advance"
            asked = {"seconds": 60, "settleSeconds": 2.5 * LATE_SECONDS}
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with aiohttp.request("POST", url, json=asked, headers=headers) as answer:
                return answer.status, await answer.text()

    with asyncio.Runner(loop_factory=lambda: WoundLoop(EPOCH, seed=1)) as runner:
        status, text = runner.run(main())
    assert status == 200, text
