"""Problems of scenarios that their types cannot state. Pure, but for reading the files that they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path as FilePath

from msgspec import structs

from podling.extensions.loading import UnknownExtension
from podling.machinery import quantity
from podling.machinery.names import dns_subdomain_errors
from podling.machinery.selectors import parse_label_selector
from podling.sim.added_kinds import Entries, extensions_named, target_kind
from podling.sim.checkers.registry import CHECKERS
from podling.sim.conditions import condition_problem
from podling.sim.manifests import ManifestProblem, manifests_of
from podling.sim.random_faults import KINDS
from podling.sim.scenario import Assertion, Scenario
from podling.sim.scenario_actions import VERBS, Action, BadServers, ClockStep, Pressure, Target
from podling.sim.scenario_parts import Condition, Finding, ManifestSource, NodeGroup, Path
from podling.sim.servers.server_validation import called_servers, server_problems
from podling.sim.simulated_cluster import NODES_MAX
from podling.sim.size_estimate import OBJECTS_MAX, PODS_MAX, gigabytes, size_of

TIMES = ("always", "never", "eventually", "at_the_end")


def problems_of(scenario: Scenario, folder: FilePath) -> Sequence[Finding]:
    """Return every problem, in the order of the file. ``folder``: where the files that it names are."""
    unknown = tuple(_extension_problems(scenario))
    if unknown:
        return unknown  # further problems would follow from these
    found = chain(
        _node_problems(scenario),
        _manifest_problems(scenario, folder),
        _size_problems(scenario, folder),
        server_problems(scenario.servers),
        chain.from_iterable(
            _action_problems(each, number, folder, scenario) for number, each in enumerate(scenario.actions)
        ),
        _assertion_problems(scenario),
        _other_problems(scenario),
    )
    return tuple(found)


def _extension_problems(scenario: Scenario) -> Iterator[Finding]:
    for number, entry in enumerate(scenario.extensions):
        try:
            extensions_named((entry,))
        except UnknownExtension as error:
            yield Finding(("with", number), str(error))


def _node_problems(scenario: Scenario) -> Iterator[Finding]:
    names: set[str] = set()
    for number, group in enumerate(scenario.nodes):
        path: Path = ("nodes", number)
        if group.name in names:
            yield Finding((*path, "name"), f'there are two groups "{group.name}"')
        names.add(group.name)
        yield from _group_problems(group, path)
    total = sum(group.count for group in scenario.nodes)
    if total > NODES_MAX:
        yield Finding(
            ("nodes",), f"{total} nodes are more than the {NODES_MAX} that a cluster has addresses for"
        )


def _group_problems(group: NodeGroup, path: Path) -> Iterator[Finding]:
    for text in dns_subdomain_errors(f"{group.name}-1"):
        yield Finding((*path, "name"), text)
    for name, amount in (
        ("cpu", group.cpu),
        ("memory", group.memory),
        ("ephemeralStorage", group.ephemeral_storage),
    ):
        if problem := _quantity_problem(amount):
            yield Finding((*path, name), problem)
    for number, taint in enumerate(group.taints):
        if taint.effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            text = f'effect "{taint.effect}" is none of NoSchedule, PreferNoSchedule, NoExecute'
            yield Finding((*path, "taints", number, "effect"), text)


def _quantity_problem(text: str) -> str:
    try:
        amount = quantity.value(text)
    except ValueError as error:
        return str(error)
    return "" if amount > 0 else f"{text} is no positive amount"


def _manifest_problems(scenario: Scenario, folder: FilePath) -> Iterator[Finding]:
    for number, source in enumerate(scenario.manifests):
        yield from _source_problems(source, ("manifests", number), folder, scenario)


def _size_problems(scenario: Scenario, folder: FilePath) -> Iterator[Finding]:
    """Yield the place that makes more pods, or objects, than the limit."""
    size = size_of(scenario, folder)
    for what, number, limit in (("pods", size.pods, PODS_MAX), ("objects", size.objects, OBJECTS_MAX)):
        if number > limit:
            text = (
                f"{number} {what} are too many: they would need about {gigabytes(size)}; the limit is {limit}"
            )
            yield Finding(size.largest, text)


def _source_problems(
    source: ManifestSource, path: Path, folder: FilePath, scenario: Scenario
) -> Iterator[Finding]:
    if bool(source.file) == bool(source.objects):
        yield Finding(path, "either file or objects must be given")
        return
    try:
        found = manifests_of(structs.replace(source, copies=1), folder, scenario.extensions)
    except ManifestProblem as problem:
        where = (*path, "file") if source.file else (*path, "objects", problem.number)
        yield Finding(where, str(problem))
        return
    for number, each in enumerate(found):
        for name in called_servers(each.obj):
            if not any(server.serves(name) for server in scenario.servers):
                where = (*path, "file") if source.file else (*path, "objects", number)
                text = f"{each.resource.kind}: servers has none for {name}, and there is no network"
                yield Finding(where, text)


def _action_problems(action: Action, number: int, folder: FilePath, scenario: Scenario) -> Iterator[Finding]:
    path: Path = ("actions", number)
    verbs = [name for name in VERBS if getattr(action, name) is not None]
    if len(verbs) != 1:
        names = ", ".join(_camel(name) for name in verbs) or "none"
        yield Finding(path, f"exactly one action must be given, found {names}")
        return
    if (action.at is None) == (action.when is None):
        yield Finding(path, "either at or when must be given")
    if action.when is not None:
        yield from _condition_problems(action.when, (*path, "when"))
    if action.within is not None and action.when is None:
        yield Finding((*path, "within"), "within needs when")
    if action.times is not None and action.every is None:
        yield Finding((*path, "times"), "times needs every")
    if action.every is not None and action.every < 1:
        yield Finding((*path, "every"), "an interval must be at least one second")
    verb = verbs[0]
    yield from _verb_problems(action, verb, (*path, _camel(verb)), folder, scenario)


def _verb_problems(
    action: Action, verb: str, path: Path, folder: FilePath, scenario: Scenario
) -> Iterator[Finding]:
    value = getattr(action, verb)
    if isinstance(value, ManifestSource):
        yield from _source_problems(value, path, folder, scenario)
    elif isinstance(value, BadServers):
        if not any(fnmatchcase(server.name, value.server) for server in scenario.servers):
            yield Finding((*path, "server"), f'servers has none that fits "{value.server}"')
    elif isinstance(value, Pressure):
        if problem := _quantity_problem(value.amount):
            yield Finding((*path, "amount"), problem)
    elif isinstance(value, NodeGroup):
        yield from _group_problems(value, path)
    elif isinstance(value, ClockStep) and (value.forward is None) == (value.back is None):
        yield Finding(path, "either forward or back must be given")
    target = value if isinstance(value, Target) else getattr(value, "target", None)
    if isinstance(target, Target):
        inside = path if isinstance(value, Target) else (*path, "target")
        yield from _target_problems(target, inside, scenario.extensions)


def _target_problems(target: Target, path: Path, entries: Entries) -> Iterator[Finding]:
    if target_kind(entries, target.kind) is None:
        yield Finding((*path, "kind"), f'no kind is called "{target.kind}"')
    if bool(target.name) == bool(target.selector):
        yield Finding(path, "either name or selector must be given")
    if problem := _selector_problem(target.selector):
        yield Finding((*path, "selector"), problem)


def _selector_problem(text: str) -> str:
    try:
        parse_label_selector(text)
    except ValueError as error:
        return str(error)
    return ""


def _assertion_problems(scenario: Scenario) -> Iterator[Finding]:
    for number, each in enumerate(scenario.assertions):
        path: Path = ("assertions", number)
        given = [name for name in TIMES if getattr(each, name) is not None]
        if len(given) != 1:
            yield Finding(path, "exactly one of always, never, eventually, atTheEnd must be given")
            continue
        yield from _condition_problems(getattr(each, given[0]), (*path, _camel(given[0])))
        yield from _time_problems(each, path, scenario)


def _time_problems(each: Assertion, path: Path, scenario: Scenario) -> Iterator[Finding]:
    if each.within is not None and each.eventually is None:
        yield Finding((*path, "within"), "within needs eventually")
    if each.after > scenario.until:
        yield Finding((*path, "after"), "this moment is after the end of the scenario")
    elif each.eventually is not None and each.after + (each.within or 0) > scenario.until:
        yield Finding((*path, "within"), "this time ends after the scenario")


def _condition_problems(condition: Condition, path: Path) -> Iterator[Finding]:
    given = [name for name in ("count", "cel", "all", "any") if getattr(condition, name)]
    if len(given) != 1:
        yield Finding(path, "exactly one of count, cel, all, any must be given")
        return
    name = given[0]
    if name in ("all", "any"):
        for number, each in enumerate(getattr(condition, name)):
            yield from _condition_problems(each, (*path, name, number))
        return
    field, problem = condition_problem(condition)
    if problem:
        yield Finding((*path, *field), problem)


def _other_problems(scenario: Scenario) -> Iterator[Finding]:
    if scenario.until < 1:
        yield Finding(("until",), "a scenario lasts at least one second")
    if scenario.begin is not None and not 1971 <= scenario.begin.year <= 9000:
        yield Finding(("begin",), "a scenario begins between 1971 and 9000")
    for number, action in enumerate(scenario.actions):
        if action.at is not None and action.at > scenario.until:
            yield Finding(("actions", number, "at"), "this moment is after the end of the scenario")
    yield from _fault_problems(scenario)
    for number, name in enumerate(scenario.checkers or ()):
        if name not in CHECKERS:
            yield Finding(
                ("checkers", number), f'no checker is called "{name}"; there are {", ".join(CHECKERS)}'
            )
    for number, traffic in enumerate(scenario.traffic):
        if not traffic.steps:
            yield Finding(("traffic", number), "traffic needs steps")


def _fault_problems(scenario: Scenario) -> Iterator[Finding]:
    faults = scenario.faults
    if faults is None:
        return
    if faults.before > scenario.until:
        yield Finding(("faults", "before"), "this moment is after the end of the scenario")
    if faults.before <= faults.after:
        yield Finding(("faults", "before"), "before must be later than after")
    if not any(group.count for group in scenario.nodes):
        yield Finding(("faults",), "faults need nodes")
    for number, name in enumerate(faults.kinds or ()):
        if name not in KINDS:
            text = f'no fault is called "{name}"; there are {", ".join(KINDS)}'
            yield Finding(("faults", "kinds", number), text)
        elif name == "servers" and not scenario.servers:
            yield Finding(("faults", "kinds", number), "faults of servers need servers in the scenario")
    if faults.kinds is not None and not faults.kinds:
        yield Finding(("faults", "kinds"), "no kinds to draw from")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
