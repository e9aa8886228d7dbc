"""The ``resolv.conf`` of a machine with systemd-resolved, and of one without."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.node.resolv_conf import resolv_conf_path


@pytest.mark.parametrize(
    ("text", "behind", "wanted"),
    [
        ("nameserver 127.0.0.53\noptions edns0\n", True, "resolved"),
        ("nameserver 127.0.0.53\n", False, "usual"),
        ("nameserver 1.2.3.4\n", True, "usual"),
        ("nameserver 127.0.0.53\nnameserver 1.2.3.4\n", True, "usual"),
        ("# nameserver 127.0.0.53\n", True, "usual"),
        (None, True, "usual"),
    ],
)
def test_stub_of_resolved_leads_to_the_file_behind_it(
    tmp_path: Path, text: str | None, behind: bool, wanted: str
) -> None:
    usual, resolved = tmp_path / "usual", tmp_path / "resolved"
    if text is not None:
        usual.write_text(text)
    if behind:
        resolved.write_text("nameserver 1.2.3.4\n")
    assert resolv_conf_path(usual, resolved).name == wanted
