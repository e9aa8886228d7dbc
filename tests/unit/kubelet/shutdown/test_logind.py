"""The way to systemd's login manager, over a real bus of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.kubelet.shutdown.logind import DROP_IN, INHIBITOR, LogindFailure, connect_logind
from tests.support.private_bus import bus_logind, private_bus


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with private_bus(tmp_path) as found:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", found)
        yield found


def test_lock_delays_shutdowns_until_it_is_released(address: str, tmp_path: Path) -> None:
    async def story() -> None:
        drop_ins = tmp_path / "logind.conf.d"
        async with bus_logind(address, drop_ins, delay_seconds=5) as played:
            logind = await connect_logind(drop_ins)
            assert await logind.inhibit_delay() == 5.0
            await logind.override_inhibit_delay(30.0)
            assert (drop_ins / DROP_IN).read_text() == (
                "# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=30\n"
            )
            await logind.reload()
            assert played.reloads == 1
            assert await logind.inhibit_delay() == 30.0
            lock = await logind.inhibit()
            assert played.inhibitors == [list(INHIBITOR)]
            signals = logind.shutdowns()
            played.shut_down()
            assert await anext(signals)
            played.shut_down(False)
            assert not await anext(signals)
            logind.release(lock)
            await played.released(10)
            await logind.close()
            with pytest.raises(StopAsyncIteration):
                await anext(signals)

    asyncio.run(story())


def test_machine_without_login_manager_is_a_failure(address: str) -> None:
    async def story() -> None:
        logind = await connect_logind()
        with pytest.raises(LogindFailure, match=r"Get: .*org\.freedesktop\.login1"):
            await logind.inhibit_delay()
        await logind.close()

    asyncio.run(story())


def test_machine_without_a_bus_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'absent'}")
    with pytest.raises(LogindFailure, match="the system bus cannot be reached"):
        asyncio.run(connect_logind())
