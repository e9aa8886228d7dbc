"""Every way to every kind of Service, on two nodes and from a machine outside, over real sockets.

For each Service, address, protocol, family of addresses and position of the client: which servers answer, and
which source address they see. ``tests.support.service_ways`` has the expectations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support.machines import missing
from tests.support.service_ground import (
    ASKED,
    ASKED_OF_TWO,
    FAMILIES,
    PROGRAM,
    PROTOCOLS,
    SECONDS,
    Ground,
    Probe,
    service_ground,
)
from tests.support.service_ways import (
    CASES,
    POSITIONS,
    Expected,
    Position,
    Way,
    expected,
    is_possible,
    ways,
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    with service_ground(tmp_path_factory.mktemp("ways")) as built:
        yield built


@pytest.mark.parametrize("position", POSITIONS, ids=str)
def test_servers_and_sources_on_every_way(ground: Ground, position: Position) -> None:
    asked: list[tuple[str, Expected, Probe]] = []
    for case in CASES:
        for way in ways(case):
            if not is_possible(position, way):
                continue
            wanted = expected(case, position, way)
            often = ASKED_OF_TWO if len(wanted.servers) > 1 else ASKED
            for family in FAMILIES:
                for protocol in PROTOCOLS:
                    probe = ground.probe(case, way, family, protocol, often)
                    if probe is not None:
                        place = f"{probe[2]}:{probe[3]}/{protocol} over {family}"
                        asked.append((f"{case.name}, {way.kind} {way.over or ''} {place}", wanted, probe))
    answers = ground.ask(position, [probe for _, _, probe in asked])
    wrong = [
        f"{what}: {problem}"
        for (what, wanted, _), found in zip(asked, answers, strict=True)
        if (problem := _difference(wanted, found, lambda name: ground.sources(name, position)))
    ]
    assert not wrong, f"from {position}:\n" + "\n".join(wrong)


def _difference(wanted: Expected, answers: list[str], sources: Callable[[str], set[str]]) -> str:
    """Return how the answers differ from what is expected; empty if they do not."""
    if not wanted.servers:
        # Programs of the node itself get an error when its rules let no packet out.
        texts = {"refused" if wanted.is_refused else "silence", "stopped"}
        return "" if set(answers) <= texts else f"{sorted(texts)} is expected, not {sorted(set(answers))}"
    told = [answer.partition(" ") for answer in answers]
    if {server for server, _, _ in told} != {f"server-{node}" for node in wanted.servers}:
        return f"servers on {sorted(wanted.servers)} are expected, not {sorted(set(answers))}"
    strange = {source for _, _, source in told} - sources(wanted.source)
    return f"{wanted.source} is expected as the source, not {sorted(strange)}" if strange else ""


def test_server_reaches_itself_through_its_service(ground: Ground) -> None:
    """Packets that come back to their sender have the node's address, else their answers would not return."""
    case = next(each for each in CASES if each.name == "near")
    probes = [
        ground.probe(case, Way("cluster"), family, protocol) for family in FAMILIES for protocol in PROTOCOLS
    ]
    command = ("exec", "-i", "server-1", "--", "python3", "-c", PROGRAM, "ask", str(SECONDS))
    found = json.loads(ground.cluster.kubectl(*command, stdin=json.dumps(probes)))
    sources = ground.sources("node-1", Position("host", 1))
    for each in found:
        assert {answer.partition(" ")[0] for answer in each} == {"server-1"}
        assert {answer.partition(" ")[2] for answer in each} <= sources
