"""Messages of the Unix socket: users, and fields by position."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.client import messages
from podling.client.requests import ListOptions, User

TEXTS = st.text(max_size=10)
USERS = st.builds(
    User,
    TEXTS,
    st.lists(TEXTS, max_size=3).map(tuple),
    TEXTS,
    st.dictionaries(TEXTS, st.lists(TEXTS, max_size=2).map(tuple), max_size=2),
)


@given(USERS)
def test_user_is_carried_whole(user: User) -> None:
    assert messages.decode_user(messages.encode_user(user)) == user


PLACE = ("apps", "v1", "deployments")
ABOUT = (7, PLACE, "default", "web", "status", False, b"user")
CHANGE = messages.Change(True, "me", "Strict", False, True, False)


@pytest.mark.parametrize(
    "message",
    [
        messages.Hello(1, "control", 42),
        messages.Get(*ABOUT),
        messages.List(*ABOUT, ListOptions(label_selector="a=b", timeout_seconds=5)),
        messages.Watch(*ABOUT, ListOptions(resource_version="9", send_initial_events=True), 1000),
        messages.Create(*ABOUT, b"{}", CHANGE),
        messages.Update(*ABOUT, b"{}", CHANGE),
        messages.Patch(*ABOUT, "application/merge-patch+json", b"{}", ("twice",), CHANGE),
        messages.Delete(*ABOUT, b"{}"),
        messages.DeleteCollection(*ABOUT, ListOptions(limit=3), b"{}"),
        messages.Follow(7, None, 1000),
        messages.Beat({"scheduler": ""}),
    ],
    ids=lambda message: type(message).__name__,
)
def test_message_of_a_client_is_read_as_it_was_sent(message: object) -> None:
    assert messages.read_from_client(msgspec.msgpack.encode(message)) == message


@pytest.mark.parametrize(
    "message",
    [
        messages.Welcome(1),
        messages.Reply(7, b"{}", ("", "v1", "Status"), ("careful",)),
        messages.Reply(7, b"{}"),
        messages.Failure(7, b"{}"),
        messages.Items(7, [b"{}", b"[]"], last=True, revision=3, continue_token="next", remaining=4),
        messages.Events(7, b"\x00\x01", [b"{}", b"{}"]),
        messages.Ended(7),
        messages.ServerRequest(7, "metrics", b""),
    ],
    ids=lambda message: type(message).__name__,
)
def test_message_of_a_server_is_read_as_it_was_sent(message: object) -> None:
    assert messages.read_from_server(msgspec.msgpack.encode(message)) == message


def test_messages_of_the_other_side_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        messages.read_from_client(msgspec.msgpack.encode(messages.Ended(7)))
    with pytest.raises(msgspec.ValidationError):
        messages.read_from_server(msgspec.msgpack.encode(messages.Cancel(7)))
