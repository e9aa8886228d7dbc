"""Conditions of scenarios: statements about the cluster's objects, kept up to date by its changes.

A count looks at each object only when that object changes, so it costs little in a large cluster. A CEL
expression over lists is evaluated when one of the kinds that it names has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Protocol

from podling.apiserver.cel.programs import Failure, NotCompiled, OverBudget, Program
from podling.apiserver.cel.types import DYN, Type, list_of
from podling.machinery.encoding import codec
from podling.machinery.resource import Resource
from podling.machinery.scheme import RESOURCES, preferred_versions
from podling.machinery.selectors import parse_label_selector
from podling.sim.changes import Change
from podling.sim.scenario_parts import Condition, CountOf

BUDGET = 1_000_000_000
"""The cost of one evaluation at most: the author of a scenario waits for it alone."""
SHOWN_MAX = 5
"""Objects that a diagnosis names."""


class Judge(Protocol):
    """A condition over the cluster as it is now."""

    def note(self, change: Change) -> bool:
        """Take a change into account; return whether the condition may have changed."""
        ...

    def holds(self) -> bool: ...

    def diagnosis(self) -> str:
        """Return what is the case instead of the condition, in one or more lines."""
        ...


@cache
def resource_named(text: str) -> Resource | None:
    """Return the resource of a kind, or of ``kind.group``, in its preferred version; case does not count."""
    kind, _, group = text.lower().partition(".")
    for each in RESOURCES:
        names = (each.kind.lower(), each.plural, each.singular, *each.short_names)
        preferred = preferred_versions().get(each.group) in (each.version, None)
        if each.stored and kind in names and group in ("", each.group) and preferred:
            return each.storage_resource
    return None


@cache
def _lists() -> dict[str, Resource]:
    """Return the resources that expressions may name, by plural; the core groups come first."""
    found: dict[str, Resource] = {}
    for each in RESOURCES:
        resource = resource_named(each.plural) if each.stored else None
        if resource is not None:
            found.setdefault(each.plural, resource)
    return found


def condition_problem(condition: Condition) -> tuple[tuple[str, ...], str]:
    """Return the field with a problem of a single condition, and the problem; empty without one."""
    if condition.cel:
        return ("cel",), _cel_problem(condition.cel, {name: list_of(DYN) for name in _lists()})
    count = condition.count
    assert count is not None
    if resource_named(count.kind) is None:
        return ("count", "kind"), f'no kind is called "{count.kind}"'
    try:
        parse_label_selector(count.selector)
    except ValueError as error:
        return ("count", "selector"), str(error)
    bounds = (count.equals, count.at_least, count.at_most)
    if all(bound is None for bound in bounds):
        return ("count",), "one of equals, atLeast, atMost must be given"
    if count.where:
        return ("count", "where"), _cel_problem(count.where, {"object": DYN})
    return (), ""


def _cel_problem(text: str, variables: Mapping[str, Type]) -> str:
    try:
        type_ = Program(text, variables).type
    except NotCompiled as error:
        return str(error)
    kind = str(type_)
    return "" if kind in ("bool", "dyn") else f"the expression must be true or false, not {kind}"


def judge_of(condition: Condition) -> Judge:
    """Return the judge of a valid condition; it must note every change from the first one on."""
    if condition.count is not None:
        return CountJudge(condition.count)
    if condition.cel:
        return CelJudge(condition.cel)
    return GroupJudge(
        [judge_of(each) for each in condition.all or condition.any], needs_all=bool(condition.all)
    )


class CountJudge:
    """Counts the objects that fit."""

    def __init__(self, count: CountOf) -> None:
        resource = resource_named(count.kind)
        assert resource is not None
        self._count = count
        self._resource = resource
        self._selector = parse_label_selector(count.selector)
        self._where = Program(count.where, {"object": DYN}) if count.where else None
        self._fitting: dict[str, None] = {}
        self._others: dict[str, Any] = {}
        """Those that only ``is`` or ``where`` excludes, for the diagnosis."""

    def note(self, change: Change) -> bool:
        if change.resource != self._resource or not self._is_meant(change):
            return False
        key = f"{change.namespace}/{change.name}"
        before = len(self._fitting)
        self._fitting.pop(key, None)
        self._others.pop(key, None)
        if change.new is not None and self._selector.matches(change.new.metadata.labels):
            if self._fits(change.new):
                self._fitting[key] = None
            else:
                self._others[key] = change.new
        return len(self._fitting) != before

    def holds(self) -> bool:
        count, found = self._count, len(self._fitting)
        return (
            (count.equals is None or found == count.equals)
            and (count.at_least is None or found >= count.at_least)
            and (count.at_most is None or found <= count.at_most)
        )

    def diagnosis(self) -> str:
        count = self._count
        bounds = (("", count.equals), ("at least ", count.at_least), ("at most ", count.at_most))
        wanted = " and ".join(f"{words}{bound}" for words, bound in bounds if bound is not None)
        named = f" with {count.selector}" if count.selector else ""
        state = f" that are {count.conditioned}" if count.conditioned else ""
        rest = f" where {count.where}" if count.where else ""
        lines = [f"{len(self._fitting)} {self._resource.plural}{named}{state}{rest}; wanted {wanted}"]
        lines += [f"  {key}: {state_of(obj)}" for key, obj in list(self._others.items())[:SHOWN_MAX]]
        if len(self._others) > SHOWN_MAX:
            lines.append(f"  and {len(self._others) - SHOWN_MAX} more")
        return "\n".join(lines)

    def _is_meant(self, change: Change) -> bool:
        count = self._count
        return count.namespace in ("", change.namespace) and fnmatchcase(change.name, count.name)

    def _fits(self, obj: Any) -> bool:
        if self._count.conditioned and not is_conditioned(obj, self._count.conditioned):
            return False
        return self._where is None or _true(self._where, {"object": _plain(obj, self._resource)})


class CelJudge:
    """Evaluates an expression over lists of objects."""

    def __init__(self, text: str) -> None:
        lists = _lists()
        self._text = text
        self._program = Program(text, {name: list_of(DYN) for name in lists})
        self._objects: dict[Resource, dict[str, Any]] = {
            lists[name]: {} for name in sorted(self._program.names)
        }
        self._is_current = False
        self._held = False

    def note(self, change: Change) -> bool:
        objects = self._objects.get(change.resource)
        if objects is None:
            return False
        key = f"{change.namespace}/{change.name}"
        objects.pop(key, None)
        if change.new is not None:
            objects[key] = _plain(change.new, change.resource)
        self._is_current = False
        return True

    def holds(self) -> bool:
        if not self._is_current:
            lists = _lists()
            names = sorted(self._program.names)
            values = {
                name: [each for _, each in sorted(self._objects[lists[name]].items())] for name in names
            }
            self._held = _true(self._program, values)
            self._is_current = True
        return self._held

    def diagnosis(self) -> str:
        found = ", ".join(f"{len(objects)} {resource.plural}" for resource, objects in self._objects.items())
        return f"{self._text} is false (of {found or 'nothing'})"


class GroupJudge:
    """All, or any, of several conditions."""

    def __init__(self, members: Sequence[Judge], *, needs_all: bool) -> None:
        self._members = members
        self._needs_all = needs_all

    def note(self, change: Change) -> bool:
        noted = [each.note(change) for each in self._members]  # every member notes every change
        return any(noted)

    def holds(self) -> bool:
        return (all if self._needs_all else any)(each.holds() for each in self._members)

    def diagnosis(self) -> str:
        return "\n".join(each.diagnosis() for each in self._members if not each.holds())


def is_conditioned(obj: Any, name: str) -> bool:
    """Return whether the object's phase is ``name``, or it has a condition of this type that is True."""
    status = getattr(obj, "status", None)
    if getattr(status, "phase", None) == name:
        return True
    conditions: Iterable[Any] = getattr(status, "conditions", ())
    return any(each.type == name and each.status == "True" for each in conditions)


def state_of(obj: Any) -> str:
    """Return an object's phase and the conditions that explain it, in one line."""
    status = getattr(obj, "status", None)
    parts = [str(getattr(status, "phase", None) or "")]
    if obj.metadata.deletion_timestamp is not None:
        parts.append("is being deleted")
    for each in getattr(status, "conditions", ()):
        if each.status != "True" and (each.reason or each.message):
            parts.append(f"{each.type}={each.status} {each.reason or ''}: {each.message or ''}".rstrip(": "))
    return "; ".join(part for part in parts if part) or "no status"


def _true(program: Program, values: Mapping[str, Any]) -> bool:
    """Return the value of an expression; one that fails, as for a field that is absent, is false."""
    try:
        return program.evaluate(values, [BUDGET]) is True
    except (Failure, OverBudget):
        return False


def _plain(obj: Any, resource: Resource) -> dict[str, Any]:
    found: dict[str, Any] = codec.to_plain(obj)
    return {"apiVersion": resource.group_version, "kind": resource.kind, **found}
