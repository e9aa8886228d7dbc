"""The shared revision: every process sees what was published, before the write is acknowledged."""

from __future__ import annotations

import os
from pathlib import Path

from podling.store.memory import MemoryStore
from podling.store.shared_revision import SharedRevision


def test_another_process_reads_what_was_published(tmp_path: Path) -> None:
    mine = SharedRevision(tmp_path / "revision")
    mine.publish(7)
    child = os.fork()
    if child == 0:
        theirs = SharedRevision(tmp_path / "revision")
        found = theirs.read()
        theirs.publish(2**40 + 1)
        os._exit(0 if found == 7 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert mine.read() == 2**40 + 1
    mine.close()


async def test_revision_is_published_before_its_write_is_acknowledged(tmp_path: Path) -> None:
    store, shared = MemoryStore(), SharedRevision(tmp_path / "revision")
    await store.put("/a", lambda revision: b"", expect=0)
    store.publish_revision(shared.publish)
    assert shared.read() == 1
    entry = await store.put("/b", lambda revision: b"", expect=0)
    assert shared.read() == entry.revision == 2
    shared.close()
