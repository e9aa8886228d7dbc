"""Worker processes end with their server."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from podling import clock

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

SERVER = """
import asyncio, sys
from podling.apiserver.compute.pool import Pool, PoolLimits
from tests.support import compute_jobs as jobs


async def main():
    pool = Pool(PoolLimits(job_seconds=600))
    print((await pool.run(jobs.process_id, lambda notes: b"")).decode(), flush=True)
    await pool.run(jobs.be_stuck, lambda notes: b"")

asyncio.run(main())
"""


async def _has_ended(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        await clock.sleep(0.05)
    return False


async def test_busy_worker_ends_with_a_killed_server() -> None:
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SERVER),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert server.stdout is not None
    worker = int(await server.stdout.readline())
    await clock.sleep(0.1)
    server.send_signal(signal.SIGKILL)
    await server.wait()
    assert await _has_ended(worker)


SHADOWED = """
import asyncio, sys
from podling.apiserver.compute.pool import Pool, PoolLimits
from tests.support import compute_jobs as jobs


async def main():
    sys.path.insert(0, sys.argv[1])
    pool = Pool(PoolLimits())
    print((await pool.run(jobs.echo, lambda notes: b"done")).decode())
    await pool.close()

asyncio.run(main())
"""


async def test_worker_starts_beside_files_named_as_modules_of_python(tmp_path: Path) -> None:
    """A test runner puts the folders of tests first, where an operator's file may be ``operator.py``."""
    for name in ("operator", "types", "queue"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the user was imported')\n")
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", SHADOWED, str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    out, _ = await server.communicate()
    assert out == b"done\n"
