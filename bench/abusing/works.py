"""The requests of each deed: those that prepare it, and those that its connections repeat."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence

from bench.abusing import bodies
from bench.abusing.schemas import GROUP, large_definition, widget
from bench.abusing.surroundings import TENANT
from bench.abusing.wire import Endpoint, Request, make_request
from bench.abusing.work import CONNECTIONS, Abuser, Work, open_many, reconnect, repeat

MAPS = f"/api/v1/namespaces/{TENANT}/configmaps"
PODS = f"/api/v1/namespaces/{TENANT}/pods"
EVENTS = f"/api/v1/namespaces/{TENANT}/events"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/{TENANT}/widgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LISTED = 5_000
WATCHED = 500
WATCHES = 1_000
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
JSON = "Accept: application/json\r\n"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
OPENAPI = ("/openapi/v2", "/openapi/v3/api/v1", "/openapi/v3")
FORCE = "?fieldManager=abuser&force=true"
WEBSOCKET = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
)


def patch(kind: str, body: Callable[[int], bytes], endpoint: Endpoint, *, many: bool) -> Work:
    """Return patches of the same type, of one object or of one for each connection."""
    made = [body(variant) for variant in range(bodies.VARIANTS)]
    query = FORCE if kind == APPLY else ""

    def turns(number: int) -> Iterator[Request]:
        path = f"{MAPS}/{name_of(number)}{query}"
        return itertools.cycle([make_request(endpoint, "PATCH", path, each, kind) for each in made])

    def name_of(number: int) -> str:
        return f"c{number}" if many else "one"

    names = [name_of(number) for number in range(CONNECTIONS if many else 1)]
    small = [bodies.encoded(bodies.config_map(name, {"first": ""})) for name in names]
    return Work(repeat(turns), [make_request(endpoint, "POST", MAPS, each) for each in small])


def post_large(endpoint: Endpoint, *, dry: bool) -> Work:
    """Return POSTs of 900 kB; what they create is deleted, so that the disk is not filled."""

    def turns(number: int) -> Iterator[Request]:
        name = f"large{number}"
        path = f"{MAPS}?dryRun=All" if dry else MAPS
        post = make_request(endpoint, "POST", path, bodies.large(name))
        delete = make_request(endpoint, "DELETE", f"{MAPS}/{name}")
        return itertools.cycle([post] if dry else [post, delete])

    return Work(repeat(turns))


def lists(endpoint: Endpoint, query: str, more: str) -> Work:
    request = make_request(endpoint, "GET", MAPS + query, more=more)
    return Work(repeat(lambda _number: itertools.repeat(request)), listed(endpoint, LISTED))


def listed(endpoint: Endpoint, count: int) -> Sequence[Request]:
    return [make_request(endpoint, "POST", MAPS, bodies.listed(number)) for number in range(count)]


def watches(endpoint: Endpoint, objects: int) -> Work:
    """Return watches that begin with the state of so many objects."""
    request = make_request(endpoint, "GET", f"{MAPS}?watch=true")
    return Work(open_many(request, WATCHES // CONNECTIONS + 1), listed(endpoint, objects))


def events(endpoint: Endpoint) -> Work:
    """Return POSTs of events."""

    def turns(number: int) -> Iterator[Request]:
        for count in itertools.count():
            yield make_request(endpoint, "POST", EVENTS, bodies.event(f"n{number}-{count}", TENANT))

    return Work(repeat(turns))


def pods(endpoint: Endpoint) -> Work:
    """Return POSTs of pods, each deleted after it was created."""

    def turns(number: int) -> Iterator[Request]:
        for count in itertools.count():
            name = f"n{number}-{count}"
            yield make_request(endpoint, "POST", PODS, bodies.endless_pod(name, ["sleep", "100000"]))
            yield make_request(endpoint, "DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")

    return Work(repeat(turns))


def gets(endpoint: Endpoint, paths: Sequence[str]) -> Work:
    requests = [
        make_request(endpoint, "GET", path, more=f"Accept: {accept}\r\n")
        for path in paths
        for accept in ("application/json", f"{PROTOBUF}, */*")
    ]
    return Work(repeat(lambda number: itertools.islice(itertools.cycle(requests), number, None)))


def widgets(endpoint: Endpoint, *, applies: bool = False) -> Work:
    """Return writes of custom objects that meet a large schema and expensive rules."""

    def turns(number: int) -> Iterator[Request]:
        name = f"w{number}"
        made = [widget(name, variant) for variant in range(bodies.VARIANTS)]
        if not applies:
            path = f"{WIDGETS}?dryRun=All"
            return itertools.cycle([make_request(endpoint, "POST", path, each) for each in made])
        path = f"{WIDGETS}/{name}{FORCE}"
        return itertools.cycle([make_request(endpoint, "PATCH", path, each, APPLY) for each in made])

    return Work(repeat(turns))


def definitions(endpoint: Endpoint) -> Work:
    """Return applies of large definitions, one for each of eight connections that share it."""

    def turns(number: int) -> Iterator[Request]:
        plural = f"gadget{number % 8}s"
        path = f"{DEFINITIONS}/{plural}.{GROUP}{FORCE}"
        made = [bodies.encoded(large_definition(plural, variant)) for variant in range(bodies.VARIANTS)]
        return itertools.cycle([make_request(endpoint, "PATCH", path, each, APPLY) for each in made])

    return Work(repeat(turns))


def garbage(endpoint: Endpoint) -> Work:
    """Return requests of several kinds, all of which are refused, as late as possible."""
    requests = garbage_requests(endpoint)
    return Work(repeat(lambda number: itertools.islice(itertools.cycle(requests), number, None)))


def garbage_requests(endpoint: Endpoint) -> Sequence[Request]:
    strict, yaml = f"{MAPS}?fieldValidation=Strict", "application/yaml"
    return [
        make_request(endpoint, "POST", MAPS, bodies.cut_json()),
        make_request(endpoint, "POST", MAPS, bodies.anchored_yaml(), yaml),
        make_request(endpoint, "POST", strict, bodies.unknown_fields()),
        make_request(endpoint, "POST", MAPS, bodies.invalid_keys()),
        make_request(endpoint, "POST", PODS, bodies.invalid_pod()),
        make_request(endpoint, "PATCH", f"{MAPS}/one{FORCE}", bodies.mistyped_apply(), APPLY),
    ]


def handshakes(endpoint: Endpoint, each: int) -> Work:
    """Return connections that are opened for one request each; ``each`` of them stand for one connection."""
    request = make_request(endpoint, "GET", f"{MAPS}/absent")
    one = reconnect([request])

    async def drive(abuser: Abuser, number: int) -> None:
        await asyncio.gather(*(one(abuser, number) for _ in range(each)))

    return Work(drive)


def endless(endpoint: Endpoint, path: str, *, reads: bool = True) -> Work:
    """Return streams of a pod that writes without end: its log, or a command in it."""
    more = WEBSOCKET if path.startswith("exec") else ""
    request = make_request(endpoint, "GET", f"{PODS}/endless/{path}", more=more)
    command = ["sh", "-c", "exec nice -n 19 yes"] if path.startswith("log") else ["sleep", "100000"]
    first = [make_request(endpoint, "POST", PODS, bodies.endless_pod("endless", command))]
    awaited = make_request(endpoint, "GET", f"{PODS}/endless"), b'"started":true'
    return Work(open_many(request, 1, reads=reads, hold=8.0), first, awaited)
