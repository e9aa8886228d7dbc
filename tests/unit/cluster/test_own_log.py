"""A detached cluster's log is rotated, and keeps taking what the process writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from podling.cluster.own_log import MAX_BYTES, MAX_FILES

WRITER = """
import os, sys
from pathlib import Path
from podling.cluster.own_log import MAX_BYTES, OwnLog

log = OwnLog(Path(sys.argv[1]))
for number in range(int(sys.argv[2])):
    print(f"begin {number}", flush=True)
    os.write(2, bytes(MAX_BYTES))
    assert log.rotate()
    assert not log.rotate()
print("last", flush=True)
print("error", file=sys.stderr, flush=True)
"""


def run(path: Path, output: Path, rotations: int) -> int:
    with output.open("ab") as sink:
        done = subprocess.run(
            [sys.executable, "-c", WRITER, str(path), str(rotations)], stdout=sink, stderr=sink, check=False
        )
    return done.returncode


def test_old_files_are_numbered_and_the_oldest_removed(tmp_path: Path) -> None:
    path = tmp_path / "podling.log"
    assert run(path, path, MAX_FILES + 2) == 0
    names = [path.name, *(f"{path.name}.{number}" for number in range(1, MAX_FILES))]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(names)
    newest = (tmp_path / f"{path.name}.1").read_bytes()
    assert newest.startswith(f"begin {MAX_FILES + 1}\n".encode())
    assert len(newest) > MAX_BYTES
    assert path.read_text() == "last\nerror\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_output_that_goes_elsewhere_is_left_alone(tmp_path: Path) -> None:
    path, other = tmp_path / "podling.log", tmp_path / "terminal"
    path.write_text("of an earlier run\n")
    assert run(path, other, 1) == 1
    assert path.read_text() == "of an earlier run\n"


FAILING = """
import os, sys
from pathlib import Path
from podling.cluster.own_log import MAX_BYTES, OwnLog

log = OwnLog(Path(sys.argv[1]))
os.write(2, bytes(MAX_BYTES))
blocker = Path(sys.argv[1] + ".new")
blocker.mkdir()
try:
    log.rotate()
except OSError:
    print("refused", flush=True)
blocker.rmdir()
assert log.rotate()
print("rotated", flush=True)
"""


def test_log_that_cannot_be_begun_anew_is_rotated_later(tmp_path: Path) -> None:
    """On a full disk no file can be made. Until one can, the old one goes on."""
    path = tmp_path / "podling.log"
    with path.open("ab") as sink:
        subprocess.run([sys.executable, "-c", FAILING, str(path)], stdout=sink, stderr=sink, check=True)
    assert path.read_text() == "rotated\n"
    assert (tmp_path / "podling.log.1").read_bytes().endswith(b"refused\n")


FOLLOWER = """
import os, sys
from pathlib import Path
from podling.cluster.own_log import OwnLog

path = Path(sys.argv[1])
log = OwnLog(path)
assert not log.reopen()
print("before", flush=True)
path.rename(path.with_suffix(".1"))
try:
    log.reopen()
except FileNotFoundError:
    print("between", flush=True)
path.touch(0o600)
assert log.reopen()
assert not log.reopen()
print("after", flush=True)
print("error", file=sys.stderr, flush=True)
"""


def test_log_that_another_process_has_rotated_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "podling.log"
    with path.open("ab") as sink:
        subprocess.run([sys.executable, "-c", FOLLOWER, str(path)], stdout=sink, stderr=sink, check=True)
    assert path.read_text() == "after\nerror\n"
    assert path.with_suffix(".1").read_text() == "before\nbetween\n"
