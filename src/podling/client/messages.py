"""The messages between an API server and components in other processes, over a Unix socket.

The client begins with ``Hello``, the server answers ``Welcome``; then both send in any order. The client
chooses the ``id`` of each request; every answer carries it. A request ends with ``Reply`` or ``Failure``, a
stream (``List``, ``Watch``, ``Follow``) with the last of its parts, ``Ended`` or ``Failure``. The server's
own requests are ``ServerRequest``, which the client answers by ``ClientReply``.

Objects are JSON, as the store has them. Fields are positions (``array_like``): a change of any message is a
change of ``VERSION``.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from podling.client.requests import ListOptions, User

VERSION = 1

Place = tuple[str, str, str]
"""Group, version and plural of a resource, or group, version and kind of an object."""


class Change(Struct, frozen=True, array_like=True):
    """Options of a create, update or patch, but for the warnings (``WriteOptions``)."""

    dry_run: bool
    field_manager: str
    field_validation: str
    force: bool
    apply: bool
    manager_implied: bool


class Hello(Struct, frozen=True, array_like=True, tag=1):
    """The first message. ``component`` names the process to people: ``control``, ``node/n1``."""

    version: int
    component: str
    pid: int


class Request(Struct, frozen=True, array_like=True):
    """The common fields of requests for a resource.

    Attributes:
        as_stored: the resource is a custom one in the version that is stored, without its schema.
        user: the MessagePack of the user that the request acts for.
    """

    id: int
    resource: Place
    namespace: str
    name: str
    subresource: str
    as_stored: bool
    user: bytes


class Get(Request, frozen=True, array_like=True, tag=2, gc=False):
    """Read one object."""


class List(Request, frozen=True, array_like=True, tag=3, gc=False):
    """Read objects; answered by ``Items``."""

    options: ListOptions


class Watch(Request, frozen=True, array_like=True, tag=4, gc=False):
    """Follow changes; answered by ``Events``, of at most ``window`` bytes until ``Credit`` adds some."""

    options: ListOptions
    window: int


class Create(Request, frozen=True, array_like=True, tag=5, gc=False):
    """Create ``body``, or POST it to a subresource."""

    body: bytes
    options: Change


class Update(Request, frozen=True, array_like=True, tag=6, gc=False):
    """Replace an object by ``body``."""

    body: bytes
    options: Change


class Patch(Request, frozen=True, array_like=True, tag=7, gc=False):
    """Patch an object. ``body`` is the JSON of the patch, ``duplicates`` as in ``requests.Patch``."""

    media_type: str
    body: bytes
    duplicates: tuple[str, ...]
    options: Change


class Delete(Request, frozen=True, array_like=True, tag=8, gc=False):
    """Delete one object. ``options`` is the JSON of ``DeleteOptions``."""

    options: bytes


class DeleteCollection(Request, frozen=True, array_like=True, tag=9, gc=False):
    """Delete the objects of a selection; answered by ``Items``."""

    selection: ListOptions
    options: bytes


class Cancel(Struct, frozen=True, array_like=True, tag=10, gc=False):
    """The client waits no more for the answer to a request, or reads a stream no more."""

    id: int


class Credit(Struct, frozen=True, array_like=True, tag=11, gc=False):
    """The client has taken so many bytes of a stream: the server may send as many more."""

    id: int
    size: int


class Extra(Struct, frozen=True, array_like=True, tag=12, gc=False):
    """Any other request, by its name; body and answer are its own affair."""

    id: int
    verb: str
    body: bytes


class Follow(Struct, frozen=True, array_like=True, tag=13, gc=False):
    """Send the whole store (``Snapshot``) with its history, then each of its changes (``Changes``).

    With ``after`` only the changes after that revision; 410 if they are not kept any more.
    """

    id: int
    after: int | None
    window: int


class Beat(Struct, frozen=True, array_like=True, tag=15):
    """A sign of life, and the error of each component in the process; empty for one that is well."""

    errors: dict[str, str]


class ClientReply(Struct, frozen=True, array_like=True, tag=16, gc=False):
    """The client's answer to ``ServerRequest``; ``error`` is empty if there is one."""

    id: int
    body: bytes
    error: str


class Welcome(Struct, frozen=True, array_like=True, tag=32, gc=False):
    """The server's answer to ``Hello``."""

    version: int


class Reply(Struct, frozen=True, array_like=True, tag=33, gc=False):
    """The answer to a request: an object, or what an ``Extra`` gives.

    ``kind`` is set if the object is not of the kind of the resource that was named.
    """

    id: int
    body: bytes
    kind: Place | None = None
    warnings: tuple[str, ...] = ()


class Failure(Struct, frozen=True, array_like=True, tag=34, gc=False):
    """The request failed. ``status`` is the JSON of a ``Status``."""

    id: int
    status: bytes
    warnings: tuple[str, ...] = ()


class Items(Struct, frozen=True, array_like=True, tag=35, gc=False):
    """A part of an answer of several objects. All but ``items`` says something in the last part only."""

    id: int
    items: list[bytes]
    last: bool = False
    revision: int = 0
    continue_token: str = ""
    remaining: int | None = None


class Events(Struct, frozen=True, array_like=True, tag=36, gc=False):
    """Events of a watch: the place in ``EVENT_TYPES`` of the type of each, and its object."""

    id: int
    types: bytes
    objects: list[bytes]


class Ended(Struct, frozen=True, array_like=True, tag=37, gc=False):
    """The server ends a stream."""

    id: int


class StoreEntry(Struct, frozen=True, array_like=True, gc=False):
    """One key of the store."""

    key: str
    create_revision: int
    revision: int
    value: bytes


class StoreEvent(Struct, frozen=True, array_like=True, gc=False):
    """One change of the store; for a deletion with the last value."""

    deleted: bool
    entry: StoreEntry


class Snapshot(Struct, frozen=True, array_like=True, tag=38, gc=False):
    """A part of the store as of ``revision``, where its history begins; changes up to ``newest`` follow."""

    id: int
    revision: int
    entries: list[StoreEntry]
    last: bool
    newest: int


class Changes(Struct, frozen=True, array_like=True, tag=39, gc=False):
    """Changes of the store, in the order of their revisions. All up to ``progress`` have been sent.

    At least one a second is sent, perhaps without changes. Only those say how far history is ``compacted``,
    and why the last write failed (``Store.trouble``).
    """

    id: int
    events: list[StoreEvent]
    progress: int
    compacted: int = 0
    trouble: str = ""


class ServerRequest(Struct, frozen=True, array_like=True, tag=40, gc=False):
    """A request of the server to the process at the other end."""

    id: int
    verb: str
    body: bytes


FromClient = (
    Hello | Get | List | Watch | Create | Update | Patch | Delete | DeleteCollection | Cancel | Credit
    | Extra | Follow | Beat | ClientReply
)  # fmt: skip
FromServer = Welcome | Reply | Failure | Items | Events | Ended | Snapshot | Changes | ServerRequest

read_from_client = msgspec.msgpack.Decoder(FromClient).decode
read_from_server = msgspec.msgpack.Decoder(FromServer).decode


class _User(Struct, frozen=True, array_like=True):
    name: str
    groups: tuple[str, ...]
    uid: str
    extra: dict[str, tuple[str, ...]]


_read_user = msgspec.msgpack.Decoder(_User).decode


def encode_user(user: User) -> bytes:
    """Return the MessagePack of a user."""
    return msgspec.msgpack.encode(_User(user.name, tuple(user.groups), user.uid, dict(user.extra)))


def decode_user(data: bytes) -> User:
    """Return the user that ``encode_user`` encoded. Raises ``msgspec.MsgspecError``."""
    found = _read_user(data)
    return User(found.name, found.groups, found.uid, found.extra)
