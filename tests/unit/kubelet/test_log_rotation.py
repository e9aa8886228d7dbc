"""Rotation of container logs: plans as a table, and files."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest

from podling.kubelet.file_watch import FileWatch
from podling.kubelet.log_rotation import LogRotation, plan_rotation, remove_log_files
from podling.kubelet.server.log_sources import open_log
from podling.kubelet.server.log_turns import LogTurns
from podling.kubelet.server.logs import LogOptions, read_log
from podling.runtime.process import ProcessRuntime
from tests.support.runtimes import start_app

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("beside", "delete", "compress"),
    [
        ((), (), ()),
        (("0.log",), (), ()),
        (("0.log.20260101-000000",), (), ("0.log.20260101-000000",)),
        (
            (
                "0.log.20260101-000000.gz",
                "0.log.20260101-000001.gz",
                "0.log.20260101-000002.gz",
                "0.log.20260101-000003",
            ),
            ("0.log.20260101-000000.gz",),
            ("0.log.20260101-000003",),
        ),
        (
            ("0.log.20260101-000000", "0.log.20260101-000000.gz", "0.log.20260101-000001.gz.tmp"),
            ("0.log.20260101-000001.gz.tmp", "0.log.20260101-000000"),
            (),
        ),
        (("1.log.20260101-000000",), (), ()),
    ],
)
def test_rotation_plan_follows_the_file_names(
    beside: tuple[str, ...], delete: tuple[str, ...], compress: tuple[str, ...]
) -> None:
    plan = plan_rotation("0.log", beside, NOW, max_files=5)
    assert (plan.delete, plan.compress, plan.rename_to) == (delete, compress, "0.log.20260102-030405")


@pytest.mark.asyncio(loop_factories=["real"])
async def test_only_a_log_above_the_limit_is_rotated(tmp_path: Path) -> None:
    runtime = ProcessRuntime(tmp_path / "state")
    await runtime.start()
    logs = tmp_path / "logs"
    container_id = await start_app(runtime, logs, shell="seq 1 1000; exec sleep 3600")
    watch = FileWatch()
    async with open_log(runtime, container_id, str(logs / "0.log"), watch, follow=True) as log:
        async for chunk in read_log(log, LogOptions(follow=True), LogTurns()):
            if chunk.endswith(b"\n1000\n"):
                break  # everything is written
    watch.close()

    await LogRotation(runtime, max_size_bytes=1 << 20, max_files=5, interval_seconds=10.0).rotate_all()
    assert [path.name for path in logs.iterdir()] == ["0.log"]

    rotation = LogRotation(runtime, max_size_bytes=1000, max_files=5, interval_seconds=10.0)
    (logs / "0.log.20250101-000000").write_text("older")
    await rotation.rotate_all()
    names = sorted(path.name for path in logs.iterdir())
    assert names[0] == "0.log"
    assert names[1] == "0.log.20250101-000000.gz"
    assert gzip.decompress((logs / names[1]).read_bytes()) == b"older"
    assert b"1000" in (logs / names[2]).read_bytes()
    assert (logs / "0.log").read_bytes() == b""

    (logs / "00.log").write_text("another container's")
    remove_log_files(logs / "0.log")
    assert [path.name for path in logs.iterdir()] == ["00.log"]

    for sandbox in await runtime.list_sandboxes():
        await runtime.remove_sandbox(sandbox.id)
    await runtime.close()


@pytest.mark.asyncio(loop_factories=["real"])
async def test_log_that_cannot_be_examined_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = ProcessRuntime(tmp_path / "state")
    await runtime.start()
    for name in ("ill", "lost", "well"):
        await start_app(runtime, tmp_path / name, shell="exec sleep 3600")
        (tmp_path / name / "0.log").write_text("x" * 2000)
    (tmp_path / "lost" / "0.log").unlink()
    (tmp_path / "ill" / "0.log").unlink()
    (tmp_path / "ill" / "0.log").symlink_to("0.log")

    await LogRotation(runtime, max_size_bytes=1000, max_files=5, interval_seconds=10.0).rotate_all()
    assert len(list((tmp_path / "well").iterdir())) == 2
    assert list((tmp_path / "lost").iterdir()) == []
    assert "Too many levels of symbolic links" in caplog.text
    assert "lost/0.log" not in caplog.text
    for sandbox in await runtime.list_sandboxes():
        await runtime.remove_sandbox(sandbox.id)
    await runtime.close()
