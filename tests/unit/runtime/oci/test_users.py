"""A container's user, from the security context, the image's USER and the image's passwd file."""

from __future__ import annotations

import pytest

from podling.runtime.base import RuntimeFailure, Security
from podling.runtime.oci.users import User, resolve_user

PASSWD = """root:x:0:0:root:/root:/bin/sh
1000:x:0:0:root by a number's name:/root:/bin/sh
2147483648:x:0:0:the same beyond all numbers:/root:/bin/sh
# a comment
broken line
www:x:33:34:www:/var/www:/bin/sh
short:x:40:41
odd:x:not:numbers:::
"""
GROUP = """root:x:0:
1000:x:0:
www:x:34:
staff:x:50:root,www
games:x:60:www
broken:x:none:www
"""


@pytest.mark.parametrize(
    ("security", "image_user", "expected"),
    [
        (Security(), "", User(0, 0, (0, 50))),
        (Security(), "www", User(33, 34, (34, 50, 60))),
        (Security(), "33", User(33, 34, (34, 50, 60))),
        (Security(), "www:staff", User(33, 50, (50, 60))),
        (Security(), "33:7", User(33, 7, (7, 50, 60))),
        (Security(), "1234", User(1234, 0, (0,))),
        (Security(), "1234:5678", User(1234, 5678, (5678,))),
        (Security(), "short", User(40, 41, (41,))),
        (Security(user="www"), "root", User(33, 34, (34, 50, 60))),
        (Security(user="1000"), "www", User(1000, 0, (0,))),
        (Security(), "1000", User(1000, 0, (0,))),
        (Security(), "1000:1000", User(1000, 1000, (1000,))),
        (Security(), "www:1000", User(33, 1000, (50, 60, 1000))),
        (Security(), "0033", User(33, 34, (34, 50, 60))),
        (Security(), "2147483647", User(2147483647, 0, (0,))),
        (Security(user="1000", group=1000), "www", User(1000, 1000, (1000,))),
        (Security(group=7), "www", User(33, 7, (7, 50, 60))),
        (Security(supplemental_groups=(2000, 34)), "www", User(33, 34, (34, 50, 60, 2000))),
        (
            Security(supplemental_groups=(2000,), supplemental_groups_policy="Strict"),
            "www",
            User(33, 34, (34, 2000)),
        ),
    ],
)
def test_security_and_image_decide_user(security: Security, image_user: str, expected: User) -> None:
    assert resolve_user(security, image_user, PASSWD, GROUP) == expected


def test_an_image_without_files_has_root_and_numbers() -> None:
    assert resolve_user(Security(), "", "", "") == User(0, 0, (0,))
    assert resolve_user(Security(user="5"), "", "", "") == User(5, 0, (5 - 5,))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("nobody", "unable to find user nobody: no matching entries in passwd file"),
        ("2147483648", "unable to find user 2147483648: no matching entries in passwd file"),
        ("9" * 5000, f"unable to find user {'9' * 5000}: no matching entries in passwd file"),
        ("²", "unable to find user ²: no matching entries in passwd file"),
        ("www:4294967296", "unable to find group 4294967296: no matching entries in group file"),
        ("odd", "unable to find user odd: no matching entries in passwd file"),
        ("١", "unable to find user ١: no matching entries in passwd file"),
        ("www:²", "unable to find group ²: no matching entries in group file"),
        ("www:2147483648", "unable to find group 2147483648: no matching entries in group file"),
        ("www:nogroup", "unable to find group nogroup: no matching entries in group file"),
    ],
)
def test_a_name_that_is_nobodys_is_an_error(wish: str, message: str) -> None:
    with pytest.raises(RuntimeFailure) as caught:
        resolve_user(Security(), wish, PASSWD, GROUP)
    assert str(caught.value) == message


def test_entries_without_usable_numbers_are_passed_over() -> None:
    passwd = "web:x:²:0::/:/bin/sh\nbig:x:2147483648:0::/:/bin/sh\nweb:x:7:8::/:/bin/sh\n"
    assert resolve_user(Security(), "web", passwd, "staff:x:²:web\n") == User(7, 8, (8,))
    with pytest.raises(RuntimeFailure, match="unable to find user big"):
        resolve_user(Security(), "big", passwd, "")
