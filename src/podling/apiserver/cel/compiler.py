"""Compilation of a CEL tree into a closure, with the errors of its types.

One walk does three things at each node: it finds the node's type (and its errors), makes the closure that
evaluates it (``runs``), and estimates its maximum cost (``costs``). Evaluation looks nothing up again.
Upstream: ``cel-go`` ``checker``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from msgspec import Struct, structs

from podling.apiserver.cel import (
    library,  # noqa: F401 -- adds its functions
    runs,
    values,
)
from podling.apiserver.cel.costs import REQUEST, call_work, fold_cost, largest, plus
from podling.apiserver.cel.equality import added, equality
from podling.apiserver.cel.folds import FOLDS, Steps
from podling.apiserver.cel.functions import OVERLOADS, Overload
from podling.apiserver.cel.literals import literal_problem, pattern_problem
from podling.apiserver.cel.readers import reader
from podling.apiserver.cel.runs import Failure, Run, Scope
from podling.apiserver.cel.trees import (
    Call,
    Fold,
    Index,
    ListOf,
    Literal,
    Make,
    MapOf,
    Name,
    Node,
    Select,
)
from podling.apiserver.cel.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    Bindings,
    Type,
    filled_in,
    fits,
    list_of,
    map_of,
)

Names = Mapping[str, Type]

_TYPE_NAMES = frozenset({
    "bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint", "optional_type",
    "google.protobuf.Duration", "google.protobuf.Timestamp", "net.CIDR", "net.IP",
})  # fmt: skip
"""Types that expressions may name."""
_LOGIC = frozenset({"_&&_", "_||_", "!_", "_?_:_"})


class Typed(Struct, frozen=True):
    """A compiled node. ``cost``: what evaluating it costs at most, in cel-go's units."""

    type: Type
    run: Run
    cost: int = 0


class Problem(Struct, frozen=True):
    text: str
    at: int


def _unrunnable(_scope: Scope) -> Any:
    raise Failure("the expression does not compile")


UNKNOWN = Typed(DYN, _unrunnable)


class Compiler:
    """Compiles one expression; ``problems`` is what its types say against it, and ``doubts`` what its
    literals do, which counts if its types are right."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.doubts: list[Problem] = []
        self.unmade = ""
        """Why no program can be made of the expression, though nothing else is wrong with it."""
        self.used: set[str] = set()
        """The names of its environment that it refers to."""

    def compile(self, node: Node, names: Names) -> Typed:
        match node:
            case Literal(value=value, type=type_):
                size = len(value) if isinstance(value, str | bytes) else None
                return Typed(Type(type_, largest=size), lambda _scope: value)
            case Name():
                return self._name(node, names)
            case Select():
                return self._select(node, names)
            case Index():
                return self._index(node, names)
            case Call():
                return self._call(node, names)
            case ListOf():
                return self._list(node, names)
            case MapOf():
                return self._map(node, names)
            case Make():
                return self._make(node, names)
            case Fold():
                return self._fold(node, names)

    def _wrong(self, text: str, at: int) -> Typed:
        self.problems.append(Problem(text, at))
        return UNKNOWN

    def _name(self, node: Name, names: Names) -> Typed:
        found, name = names.get(node.name), node.name
        if found is not None:
            self.used.add(name)
            return Typed(found, lambda scope: scope[name], 1)
        if name in _TYPE_NAMES:
            return Typed(Type("type"), lambda _scope: name, 1)
        return self._wrong(f"undeclared reference to '{name}' (in container '')", node.at)

    def _select(self, node: Select, names: Names) -> Typed:
        if isinstance(node.operand, Name) and (whole := f"{node.operand.name}.{node.field}") in names:
            return Typed(names[whole], lambda scope: scope[whole], 1)
        if (path := _path(node)) in _TYPE_NAMES and path.partition(".")[0] not in names:
            return Typed(Type("type"), lambda _scope: path, 1)
        operand = self.compile(node.operand, names)
        if operand is UNKNOWN:
            return UNKNOWN
        within, chained = operand.type, operand.type.name == "optional"
        if chained:
            within = within.inner[0]
        key, type_ = node.field, DYN
        if within.name == "object":
            field = within.fields.get(node.field)
            if field is None:
                return self._wrong(f"undefined field '{node.field}'", node.at)
            key, type_ = field.key, field.type
        elif within.name == "map":
            type_ = replace(within.inner[1], largest=None)  # upstream knows no sizes of what is selected so
        elif within.name != "dyn":
            return self._wrong(f"type '{within}' does not support field selection", node.at)
        of_object = within.name == "object"
        step = 1 if of_object or within.name == "map" or node.optional or chained else 0
        cost = plus(operand.cost, step)
        if node.asked:
            return Typed(BOOL, runs.presence(operand.run, key, of_object=of_object), operand.cost)
        read = reader(type_)
        if node.optional or chained:
            run = runs.maybe(operand.run, key, read, of_object=of_object)
            return Typed(Type("optional", (type_,)), run, cost)
        return Typed(type_, runs.field(operand.run, key, read, of_object=of_object), cost)

    def _index(self, node: Index, names: Names) -> Typed:
        operand, key = self.compile(node.operand, names), self.compile(node.key, names)
        within, chained = operand.type, operand.type.name == "optional"
        if chained:
            within = within.inner[0]
        if within.name == "list" and fits(Type("int"), key.type, {}):
            type_ = within.inner[0]
        elif within.name == "map" and fits(within.inner[0], key.type, {}):
            type_ = within.inner[1]
        elif within.name == "dyn":
            type_ = DYN
        else:
            return self._no_overload("_[_]", [within, key.type], node.at)
        cost = plus(operand.cost, key.cost, 1)
        if node.optional or chained:
            run = runs.maybe_item(operand.run, key.run, reader(type_))
            return Typed(Type("optional", (type_,)), run, cost)
        return Typed(type_, runs.item(operand.run, key.run, reader(type_)), cost)

    def _no_overload(self, name: str, types: list[Type], at: int, *, method: bool = False) -> Typed:
        if method:
            shown = f"{types[0]}.({', '.join(map(str, types[1:]))})"
        else:
            shown = f"({', '.join(map(str, types))})"
        return self._wrong(f"found no matching overload for '{name}' applied to '{shown}'", at)

    def _call(self, node: Call, names: Names) -> Typed:
        name, target = node.function, node.target
        if isinstance(target, Name) and target.name not in names and f"{target.name}.{name}" in OVERLOADS:
            name, target = f"{target.name}.{name}", None
        nodes = node.arguments if target is None else (target, *node.arguments)
        given = [
            self._list(each, names, mixed=True)
            if name == "format" and isinstance(each, ListOf)
            else self.compile(each, names)
            for each in nodes
        ]
        if UNKNOWN in given:
            return UNKNOWN
        types = [each.type for each in given]
        if name in _LOGIC:
            if not all(fits(BOOL, each, {}) for each in types[: 1 if name == "_?_:_" else 2]):
                return self._no_overload(name, types, node.at)
            return self._logic(name, given, node.at)
        if name == "type" and len(given) == 1 and target is None:
            return Typed(Type("type"), runs.type_of(given[0].run, types[0].name), plus(given[0].cost, 1))
        if name not in OVERLOADS:
            return self._wrong(f"undeclared reference to '{name}' (in container '')", node.at)
        method = target is not None
        found = [
            each for each in OVERLOADS[name] if each.method == method and _accepts(each, types) is not None
        ]
        if not found:
            return self._no_overload(name, types, node.at, method=method)
        results = [filled_in(each.result, _accepts(each, types) or {}) for each in found]
        same = all(each == results[0] for each in results)
        self._doubt(name, node.arguments)
        work = call_work(name, types, [each.value if isinstance(each, Literal) else None for each in nodes])
        result = _sized(name, results[0], types, work.size) if same else DYN
        cost = plus(*(each.cost for each in given), work.cost)
        if special := _by_type(name, given):
            joined = replace(types[0], largest=work.size) if name == "_+_" else result
            return Typed(joined, special, cost)
        return Typed(result, runs.called(name, found, [each.run for each in given]), cost)

    def _doubt(self, name: str, arguments: tuple[Node, ...]) -> None:
        """Return the errors of a literal text that a function parses."""
        last = arguments[-1] if arguments else None
        if isinstance(last, Literal) and (problem := literal_problem(name, last.value)):
            self.doubts.append(Problem(problem, last.at))
        if name in ("find", "findAll") and len(arguments) > 0 and isinstance(arguments[0], Literal):
            self.unmade = self.unmade or pattern_problem(arguments[0].value)

    def _logic(self, name: str, given: list[Typed], at: int) -> Typed:
        parts, cost = [each.run for each in given], plus(*(each.cost for each in given))
        if name == "!_":
            return Typed(BOOL, runs.negated(*parts), plus(cost, 1))
        if name != "_?_:_":
            return Typed(BOOL, (runs.either if name == "_||_" else runs.both)(*parts), cost)
        condition, yes, no = given
        bound: Bindings = {}
        parameter = Type("A")
        if not (fits(parameter, yes.type, bound) and fits(parameter, no.type, bound)):
            return self._no_overload(name, [each.type for each in given], at)
        size = max(largest(yes.type), largest(no.type))
        type_ = replace(yes.type, largest=size) if yes.type == no.type else DYN
        cost = plus(condition.cost, max(yes.cost, no.cost))
        return Typed(type_, runs.choice(*parts), cost)

    def _alike(self, nodes: Iterable[Node], found: list[Typed]) -> Type:
        """Return the type of all of these, which must be the same."""
        known = next((each.type for each in found if each.type.name != "dyn"), DYN)
        for node, each in zip(nodes, found, strict=True):
            if not fits(known, each.type, {}):
                self._wrong(f"expected type '{known}' but found '{each.type}'", node.at)
        return DYN if any(each.type.name == "dyn" for each in found) else known

    def _list(self, node: ListOf, names: Names, *, mixed: bool = False) -> Typed:
        """``mixed``: the items may be of different types, as the arguments of ``format`` are."""
        items = [self.compile(each, names) for each in node.items]
        held = [self._held(each, at in node.optional) for at, each in enumerate(items)]
        type_ = list_of(DYN if mixed else self._alike(node.items, held), len(items))
        run = runs.listed([each.run for each in items], node.optional)
        return Typed(type_, run, plus(10, *(each.cost for each in items)))

    def _held(self, item: Typed, optional: bool) -> Typed:
        """Return an item as its list counts it: what an optional one holds."""
        if not optional or item.type.name != "optional":
            return item
        return structs.replace(item, type=item.type.inner[0])

    def _map(self, node: MapOf, names: Names) -> Typed:
        keys = [self.compile(key, names) for key, _ in node.entries]
        values = [self.compile(value, names) for _, value in node.entries]
        held = [self._held(each, at in node.optional) for at, each in enumerate(values)]
        parts = [(key.run, value.run) for key, value in zip(keys, values, strict=True)]
        type_ = map_of(
            self._alike([key for key, _ in node.entries], keys),
            self._alike([value for _, value in node.entries], held),
            len(parts),
        )
        cost = plus(30, *(each.cost for each in (*keys, *values)))
        return Typed(type_, runs.mapped(parts, node.optional), cost)

    def _make(self, node: Make, names: Names) -> Typed:
        root, _, below = node.type.partition(".")
        known = names.get(f"{root}{{}}")
        if known is None or (below and known.fields):
            return self._wrong(f"undeclared reference to '{node.type}' (in container '')", node.at)
        parts: list[tuple[str, Run, bool]] = []
        cost = 40
        for name, value, optional in node.fields:
            made = self.compile(value, names)
            wanted = known.fields[name].type if name in known.fields else DYN
            if known.fields and name not in known.fields:
                self._wrong(f"undefined field '{name}'", value.at)
            if not fits(Type("optional", (wanted,)) if optional else wanted, made.type, {}):
                text = f"expected type of field '{name}' is '{wanted}' but provided type is '{made.type}'"
                self._wrong(text, value.at)
            parts.append((name, made.run, optional))
            cost = plus(cost, made.cost)
        type_ = known if known.fields else Type(node.type)
        return Typed(type_, runs.making(node.type, parts), cost)

    def _fold(self, node: Fold, names: Names) -> Typed:
        over = self.compile(node.over, names)
        if over is UNKNOWN:
            return UNKNOWN
        if node.kind in ("optMap", "optFlatMap"):
            return self._optional_map(node, over, names)
        if over.type.name not in ("list", "map", "dyn"):
            text = f"expression of type '{over.type}' cannot be range of a comprehension"
            self._wrong(f"{text} (must be list, map, or dynamic)", node.over.at)
        first, item = _steps_of(over.type, pairs=bool(node.second))
        inner = {**names, node.variable: first, **({node.second: item} if node.second else {})}
        condition = self.compile(node.condition, inner) if node.condition is not None else None
        body = self.compile(node.body, inner)
        for each, part in ((node.body, body), (node.condition, condition)):
            asked = node.kind in _ASKING or part is condition
            if each is not None and part is not None and asked and not fits(BOOL, part.type, {}):
                return self._no_overload("_&&_", [BOOL, part.type], each.at)
        size = largest(over.type)
        cost = fold_cost(node.kind, size, body.cost, condition.cost if condition else 0)
        steps = Steps(over.run, node.variable, reader(item), runs.nodes(node.body), node.second)
        run = FOLDS[node.kind](steps, body.run, condition.run if condition else None)
        type_ = _folded(node.kind, over.type, first, body.type, size)
        return Typed(type_, run, plus(over.cost, cost))

    def _optional_map(self, node: Fold, over: Typed, names: Names) -> Typed:
        if over.type.name not in ("optional", "dyn"):
            return self._no_overload(node.kind, [over.type], node.at, method=True)
        item = over.type.inner[0] if over.type.inner else DYN
        body = self.compile(node.body, {**names, node.variable: item})
        flat = node.kind == "optFlatMap"
        run = runs.optional_map(over.run, node.variable, body.run, flat=flat)
        type_ = body.type if flat else Type("optional", (body.type,))
        return Typed(type_, run, plus(over.cost, body.cost))


_ASKING = frozenset({"all", "exists", "exists_one", "filter"})


def _steps_of(over: Type, *, pairs: bool) -> tuple[Type, Type]:
    """Return the types of a macro's variables: of the first, and of what is read of the data."""
    if over.name not in ("list", "map"):
        return DYN, DYN
    if not pairs:
        return over.inner[0], over.inner[0]
    return (over.inner[0], over.inner[1]) if over.name == "map" else (INT, over.inner[0])


def _folded(kind: str, over: Type, first: Type, body: Type, size: int) -> Type:
    """Return the result type of a macro."""
    match kind:
        case "map" | "transformList":
            return list_of(body, size)
        case "filter":
            return list_of(first, size)
        case "sortBy":
            return over
        case "transformMap":
            return map_of(first, body, size)
        case "transformMapEntry":
            return body
    return BOOL


def _path(node: Node) -> str:
    """``a.b.c`` as text; empty if it is more than names."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Select) and not (node.asked or node.optional):
        before = _path(node.operand)
        return f"{before}.{node.field}" if before else ""
    return ""


def _by_type(name: str, given: list[Typed]) -> Run | None:
    """Return the operator for types with a special form of it; None for all others."""
    if name in ("_==_", "_!=_"):
        equal = equality(given[0].type)
        plain = equal is values.same
        return None if plain else runs.compared(equal, given[0].run, given[1].run, negated=name == "_!=_")
    if name == "@in" and given[1].type.name == "list":
        equal = equality(given[1].type.inner[0])
        return None if equal is values.same else runs.contained(equal, given[0].run, given[1].run)
    if name == "_+_" and given[0].type.list_type:
        return runs.joined(added(given[0].type), given[0].run, given[1].run)
    return None


def _accepts(overload: Overload, types: list[Type]) -> Bindings | None:
    if len(overload.arguments) != len(types):
        return None
    bound: Bindings = {}
    if all(fits(formal, actual, bound) for formal, actual in zip(overload.arguments, types, strict=True)):
        return bound
    return None


def _sized(name: str, result: Type, types: list[Type], size: int | None) -> Type:
    """Return a call's result with what is known of its size: enough that costs do not become fantastic."""
    if name == "dyn":
        return replace(result, largest=largest(types[0]))
    if size is not None and result.name in ("string", "bytes", "list"):
        return replace(result, largest=size)
    if result.name == "string" and types and types[0].name == "string":
        return Type("string", largest=min(largest(types[0]), REQUEST))
    return Type("string", largest=64) if result == STRING else result
