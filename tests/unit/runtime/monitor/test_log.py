"""The kubelet reads from a monitor's log the output that the container wrote."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from podling.kubelet.server.logs import LogOptions, LogText
from podling.runtime.monitor.log import Log

writes = st.lists(
    st.tuples(
        st.sampled_from(["stdout", "stderr"]), st.binary(min_size=1, max_size=30) | st.just(b"a\n\nb\n")
    ),
    max_size=20,
)


def read(log: bytes, stream: str) -> bytes:
    return LogText(LogOptions(stream=stream)).feed(log)


@given(writes)
def test_each_stream_comes_back_whole(written: list[tuple[str, bytes]]) -> None:
    """Any split into writes yields the same lines; an unfinished last line is completed."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "0.log"
        log = Log(str(path))
        for stream, chunk in written:
            log.write(stream, chunk)
        log.finish()
        content = path.read_bytes()
    for stream in ("stdout", "stderr"):
        whole = b"".join(chunk for name, chunk in written if name == stream)
        ended = whole if not whole or whole.endswith(b"\n") else whole + b"\n"
        assert read(content, stream) == ended


def test_a_reopened_log_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    log = Log(str(path))
    log.write("stdout", b"first\n")
    path.rename(tmp_path / "0.log.old")
    log.write("stdout", b"second\n")
    log.reopen()
    log.write("stdout", b"third\n")
    assert read((tmp_path / "0.log.old").read_bytes(), "stdout") == b"first\nsecond\n"
    assert read(path.read_bytes(), "stdout") == b"third\n"
