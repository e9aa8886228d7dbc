"""Reading scenario files: YAML into the types of ``scenario``, and errors with line and column."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import yaml
from msgspec import Struct, structs

from podling.sim.scenario import Scenario
from podling.sim.scenario_parts import Duration, Finding, duration_from
from podling.sim.scenario_parts import Path as FieldPath
from podling.sim.scenario_validation import problems_of

DEPTH_MAX = 100
SIZE_MAX = 16 * 1024 * 1024
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[\.\.\.\]")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")


class Place(Struct, frozen=True):
    """A place in a file, counted from one."""

    line: int
    column: int


class ScenarioUnusable(Exception):
    """A scenario that cannot run. The text has a line for each problem: ``file:line:column: problem``."""


class ScenarioText:
    """A scenario file's text, its plain content and the places of its fields."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        if len(text) > SIZE_MAX:
            raise ScenarioUnusable(f"{name}:1:1: the file has more than {SIZE_MAX} characters")
        self.places: dict[FieldPath, Place] = {}
        try:
            root = yaml.compose(text, Loader=yaml.CSafeLoader)
            self.content: Any = None if root is None else self._read(root, (), ())
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
            raise ScenarioUnusable(self._line(place, error.problem or str(error))) from None
        except yaml.YAMLError as error:
            raise ScenarioUnusable(self._line(Place(1, 1), " ".join(str(error).split()))) from None

    def problem(self, path: FieldPath, text: str) -> str:
        """Return the line of a problem; a place that the file does not have is that of its parent."""
        while path not in self.places and path:
            path = path[:-1]
        return self._line(self.places.get(path, Place(1, 1)), text)

    def _line(self, place: Place, text: str) -> str:
        return f"{self.name}:{place.line}:{place.column}: {text}"

    def _read(self, node: yaml.Node, path: FieldPath, above: tuple[int, ...]) -> Any:
        """Return the plain content of a node, and remember its place."""
        place = Place(node.start_mark.line + 1, node.start_mark.column + 1)
        self.places.setdefault(path, place)
        if len(path) > DEPTH_MAX or id(node) in above:
            raise ScenarioUnusable(self._line(place, f"nested deeper than {DEPTH_MAX} levels"))
        if isinstance(node, yaml.SequenceNode):
            inside = (*above, id(node))
            return [self._read(each, (*path, number), inside) for number, each in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, (*above, id(node)))
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: FieldPath, above: tuple[int, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            place = Place(key.start_mark.line + 1, key.start_mark.column + 1)
            if name is None:
                raise ScenarioUnusable(self._line(place, "a key must be a text"))
            if name in found:
                raise ScenarioUnusable(self._line(place, f'the key "{name}" occurs twice'))
            self.places[(*path, name)] = place
            found[name] = self._read(value, (*path, name), above)
        return found


def _scalar(node: yaml.Node) -> Any:
    """Return the value of a scalar, as the safe loader reads it."""
    loader = yaml.CSafeLoader("")
    try:
        found: Any = loader.construct_object(node, deep=True)
        return found
    finally:
        loader.dispose()


def read_scenario(text: str, name: str, folder: Path, extensions: Sequence[str] = ()) -> Scenario:
    """Return the scenario in a file's text. Raises ``ScenarioUnusable`` with every problem found.

    ``folder`` is where the files that it names are. ``extensions`` are enabled beside those of the file.
    """
    source = ScenarioText(text, name)
    try:
        scenario = msgspec.convert(source.content, Scenario, strict=True, dec_hook=_decode)
    except msgspec.ValidationError as error:
        raise ScenarioUnusable(source.problem(*_located(error))) from None
    enabled = dict.fromkeys((*scenario.extensions, *extensions))
    scenario = structs.replace(scenario, extensions=tuple(enabled))
    problems: Sequence[Finding] = problems_of(scenario, folder)
    if problems:
        raise ScenarioUnusable("\n".join(source.problem(each.path, each.text) for each in problems))
    return scenario


def json_schema() -> Mapping[str, Any]:
    """Return the JSON schema of scenario files, for editors."""
    schema = msgspec.json.schema(Scenario, schema_hook=_schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Podling scenario", **schema}


def _decode(kind: type[Any], value: Any) -> Any:
    if kind is Duration:
        return duration_from(value)
    raise NotImplementedError(kind)


def _schema(kind: type[Any]) -> dict[str, Any]:
    if kind is Duration:
        return {"type": ["string", "number"], "description": "seconds, or a text like 1h30m"}
    raise NotImplementedError(kind)


def _located(error: msgspec.ValidationError) -> tuple[FieldPath, str]:
    """Return the path of the field that an error is about, and the problem."""
    problem, _, where = str(error).partition(" - at `$")
    path: FieldPath = tuple(
        int(number) if number else name for name, number in _STEP.findall(where.rstrip("`")) if name or number
    )
    unknown = _UNKNOWN.search(problem)
    if unknown is not None:
        path = (*path, unknown[1])
        problem += _suggestion(unknown[1], Scenario, path[:-1])
    return path, problem


def _suggestion(name: str, kind: Any, path: FieldPath) -> str:
    """Return the fields that the author of an unknown one may have meant, as text after the problem."""
    kinds = [kind]
    for step in path:
        kinds = [inner for each in kinds for inner in _inside(each, step)]
    fields = [field for each in kinds for field in _fields(each)]
    like = difflib.get_close_matches(name, fields, n=1)
    if like:
        return f"; did you mean `{like[0]}`?"
    return f"; there are {', '.join(fields)}" if fields else ""


def _inside(kind: Any, step: str | int) -> Iterator[Any]:
    """Yield the types of a field or an item of a type."""
    if isinstance(kind, types.UnionType):
        for each in get_args(kind):
            yield from _inside(each, step)
    elif isinstance(step, int) or get_origin(kind) is not None:
        yield from (each for each in get_args(kind)[-2:] if each is not Ellipsis)
    elif isinstance(kind, type) and issubclass(kind, Struct):
        yield from (each.type for each in structs.fields(kind) if each.encode_name == step)


def _fields(kind: Any) -> Iterator[str]:
    if isinstance(kind, types.UnionType):
        for each in get_args(kind):
            yield from _fields(each)
    elif isinstance(kind, type) and issubclass(kind, Struct):
        yield from (each.encode_name for each in structs.fields(kind))
