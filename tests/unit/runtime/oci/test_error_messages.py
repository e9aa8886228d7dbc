"""Messages of the OCI runtime as Kubernetes words them."""

from __future__ import annotations

import pytest

from podling.runtime.oci.error_messages import start_failure


@pytest.mark.parametrize(
    ("said", "command", "message"),
    [
        (
            "executable file `badcommand` not found in $PATH: No such file or directory",
            "badcommand",
            'exec: "badcommand": executable file not found in $PATH',
        ),
        (
            'runc create failed: unable to start container process: exec: "badcommand": '
            "executable file not found in $PATH",
            "badcommand",
            'exec: "badcommand": executable file not found in $PATH',
        ),
        (
            "executable file `/bad/path` not found: No such file or directory",
            "/bad/path",
            'exec: "/bad/path": stat /bad/path: no such file or directory',
        ),
        (
            'time="2026-01-01T00:00:00Z" level=error msg="runc create failed: '
            "unable to start container process: "
            'exec: \\"/bad/path\\": stat /bad/path: no such file or directory"',
            "/bad/path",
            'exec: "/bad/path": stat /bad/path: no such file or directory',
        ),
        (
            '[conmon:e]: time="2026-01-01T00:00:00Z" level=error '
            'msg="runc create failed: mount \\"/a\\" failed"',
            "true",
            'runc create failed: mount "/a" failed',
        ),
        ("open executable: Permission denied", "/data", 'exec: "/data": permission denied'),
        (
            'runc create failed: unable to start container process: exec: "/data": permission denied',
            "/data",
            'exec: "/data": permission denied',
        ),
        ("exec container process `/x`: Exec format error", "/x", 'exec: "/x": exec format error'),
        (
            "error stat'ing file `/nope`: No such file or directory",
            "true",
            "error stat'ing file `/nope`: No such file or directory",
        ),
        ("warning first\nsomething else broke", "true", "something else broke"),
        ("", "true", ""),
    ],
)
def test_the_engines_words_become_those_users_know(said: str, command: str, message: str) -> None:
    assert start_failure(said, command) == message
