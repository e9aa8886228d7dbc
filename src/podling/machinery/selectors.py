"""Label and field selectors: reading them, and deciding what they select.

The grammar of label selectors is that of ``apimachinery/pkg/labels``: ``a=b``, ``a==b``, ``a!=b``,
``a in (b,c)``, ``a notin (b)``, ``a``, ``!a``, ``a>1``, ``a<1``, joined by commas, all of which must hold.
Field selectors (``pkg/fields``) know ``=``, ``==`` and ``!=`` only, and escape with backslashes.
Parsed selectors are immutable; parsing is cached, because watches repeat the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from podling.api import core_v1, meta_v1
from podling.machinery import fields
from podling.machinery.requirements import Operator, Requirement, SelectorError, key_errors, requirement
from podling.machinery.selector_index import FEW, FieldIndex, LabelIndex, label_index
from podling.machinery.text_cache import cached_by_text

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "FieldSelector",
    "FieldTerm",
    "LabelSelector",
    "Operator",
    "Requirement",
    "SelectorError",
    "from_label_selector",
    "from_labels",
    "from_node_selector_requirements",
    "parse_field_selector",
    "parse_label_selector",
    "readable_selector",
    "requirement",
]

_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")
_SYMBOLS = {"=": Operator.EQUALS, "==": Operator.DOUBLE_EQUALS, "!=": Operator.NOT_EQUALS}
_SYMBOLS |= {">": Operator.GREATER_THAN, "<": Operator.LESS_THAN}
_WORDS = {"in": Operator.IN, "notin": Operator.NOT_IN}
_API_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Gt": Operator.GREATER_THAN,
    "Lt": Operator.LESS_THAN,
}


class LabelSelector(Struct, frozen=True):
    """All of its requirements must hold; without any it selects everything, unless ``never``."""

    requirements: tuple[Requirement, ...] = ()
    never: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.never:
            return False
        return all(each.matches(labels) for each in self.requirements)

    @property
    def empty(self) -> bool:
        """True if it selects everything."""
        return not self.requirements and not self.never

    def __str__(self) -> str:
        return ",".join(str(each) for each in self.requirements)


class _LongLabelSelector(LabelSelector, frozen=True, kw_only=True):
    """A label selector of many requirements."""

    index: LabelIndex

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.index.matches(labels)


def _selector(found: Iterable[Requirement]) -> LabelSelector:
    requirements = tuple(sorted(found, key=lambda each: each.key))
    index = label_index(requirements)
    return LabelSelector(requirements) if index is None else _LongLabelSelector(requirements, index=index)


EVERYTHING = LabelSelector()
NOTHING = LabelSelector(never=True)


@cached_by_text(1024)
def parse_label_selector(text: str) -> LabelSelector:
    """Read the text form; empty selects everything. Raises SelectorError."""
    return _selector(_LabelParser(text).parse())


def from_label_selector(selector: meta_v1.LabelSelector | None) -> LabelSelector:
    """Return the selector in an object's spec: absent selects nothing, empty everything.

    Raises SelectorError.
    """
    if selector is None:
        return NOTHING
    found = [requirement(key, Operator.EQUALS, (value,)) for key, value in selector.match_labels.items()]
    for each in selector.match_expressions:
        operator = _API_OPERATORS.get(each.operator)
        if operator is None or operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
            raise SelectorError(f'"{each.operator}" is not a valid label selector operator')
        found.append(requirement(each.key, operator, each.values))
    return _selector(found)


def readable_selector(selector: meta_v1.LabelSelector | None) -> LabelSelector | None:
    """Return the selector of a stored object; None if it cannot be read."""
    try:
        return from_label_selector(selector)
    except SelectorError:
        return None


def from_labels(labels: Mapping[str, str]) -> LabelSelector:
    """Selects what carries all of these labels: the selectors of services and replication controllers."""
    return LabelSelector(
        tuple(Requirement(key, Operator.EQUALS, (value,)) for key, value in sorted(labels.items()))
    )


def from_node_selector_requirements(
    expressions: Iterable[core_v1.NodeSelectorRequirement],
) -> LabelSelector:
    """Node affinity's expressions, which know ``Gt`` and ``Lt`` too. Raises SelectorError."""
    found = []
    for each in expressions:
        operator = _API_OPERATORS.get(each.operator)
        if operator is None:
            raise SelectorError(f'"{each.operator}" is not a valid node selector operator')
        found.append(requirement(each.key, operator, each.values))
    return LabelSelector(tuple(found))


_token = re.compile(
    r"[ \t\r\n]*(?:(?P<symbol>==|!=|[=!<>(),])|(?P<word>[^ \t\r\n=!<>(),]+)|(?P<end>$))"
).match


class _LabelParser:
    """Upstream's recursive descent, token for token, because its error messages follow from it."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while match := _token(text, at):
            kind = str(match.lastgroup)
            self.tokens.append((kind, match.group(kind)))
            if kind == "end":
                break
            at = match.end()
        self.at = 0

    def look(self) -> tuple[str, str]:
        return self.tokens[self.at]

    def take(self) -> tuple[str, str]:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            kind, literal = self.look()
            if kind == "end":
                return found
            if kind != "word" and literal != "!":
                raise SelectorError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            kind, literal = self.take()
            if kind == "end":
                return found
            if literal != ",":
                raise SelectorError(f"found '{literal}', expected: ',' or 'end of string'")
            kind, literal = self.look()
            if kind != "word" and literal != "!":
                raise SelectorError(f"found '{literal}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        kind, literal = self.take()
        absent = literal == "!" and kind == "symbol"
        if absent:
            kind, literal = self.take()
        if kind != "word":
            raise SelectorError(f"found '{literal}', expected: identifier")
        if problems := key_errors(literal, fields.Path()):
            raise SelectorError(fields.aggregate(problems))
        if self.ends_here():
            return requirement(literal, Operator.DOES_NOT_EXIST if absent else Operator.EXISTS)
        if absent:
            return requirement(literal, Operator.DOES_NOT_EXIST)
        operator = self.operator()
        values = self.values() if operator in (Operator.IN, Operator.NOT_IN) else [self.exact_value()]
        return requirement(literal, operator, sorted(set(values)))

    def ends_here(self) -> bool:
        kind, literal = self.look()
        return kind == "end" or literal == ","

    def operator(self) -> Operator:
        kind, literal = self.take()
        operator = (_WORDS if kind == "word" else _SYMBOLS).get(literal)
        if operator is None:
            raise SelectorError(f"found '{literal}', expected: {', '.join(_BINARY)}")
        return operator

    def exact_value(self) -> str:
        if self.ends_here():
            return ""
        kind, literal = self.take()
        if kind != "word":
            raise SelectorError(f"found '{literal}', expected: identifier")
        return literal

    def values(self) -> list[str]:
        _, literal = self.take()
        if literal != "(":
            raise SelectorError(f"found '{literal}' expected: '('")
        kind, literal = self.look()
        if literal == ")" and kind == "symbol":
            self.take()
            return [""]
        if kind != "word" and literal != ",":
            raise SelectorError(f"found '{literal}', expected: ',', ')' or identifier")
        return self.value_list()

    def value_list(self) -> list[str]:
        """Values up to the closing parenthesis; between two commas there is an empty one."""
        found: list[str] = []
        wanted = True
        while True:
            kind, literal = self.take()
            if kind == "word":
                if not wanted:
                    raise SelectorError(f"found '{literal}', expected: ',' or ')'")
                found.append(literal)
                wanted = False
            elif literal == "," or literal == ")":
                if wanted:
                    found.append("")
                wanted = True
                if literal == ")":
                    return found
            elif wanted:
                raise SelectorError(f"found '{literal}', expected: ',', or identifier")
            else:
                raise SelectorError(f"found '{literal}', expected: ',' or ')'")


class FieldTerm(Struct, frozen=True):
    field: str
    value: str
    equal: bool = True

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{_escape(self.value)}"


class FieldSelector(Struct, frozen=True):
    """All of its terms must hold; without any it selects everything."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, values: Mapping[str, str]) -> bool:
        """Return whether an object with these field values is selected; a missing value is empty."""
        return all((values.get(term.field, "") == term.value) == term.equal for term in self.terms)

    @property
    def empty(self) -> bool:
        return not self.terms

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that it names, to be checked against those of the kind."""
        return tuple(dict.fromkeys(term.field for term in self.terms))

    def required_value(self, field: str) -> str | None:
        """The value that ``field`` must have, if the selector says so: ``metadata.name`` finds one key."""
        return next((term.value for term in self.terms if term.field == field and term.equal), None)

    def __str__(self) -> str:
        return ",".join(str(term) for term in self.terms)


class _LongFieldSelector(FieldSelector, frozen=True, kw_only=True):
    """A field selector of many terms."""

    index: FieldIndex

    def matches(self, values: Mapping[str, str]) -> bool:
        return self.index.matches(values)


_split_operator = re.compile(r"((?:[^=!\\]|\\.|!(?!=))*)(!=|==|=)(.*)", re.DOTALL).fullmatch
_escape_sequence = re.compile(r"\\.?", re.DOTALL)


@cached_by_text(1024)
def parse_field_selector(text: str) -> FieldSelector:
    """Read the text form; empty selects everything. Raises SelectorError."""
    found = []
    for part in re.findall(r"(?:[^,\\]|\\.?)+", text, re.DOTALL):
        match = _split_operator(part)
        if match is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        field, operator, value = match.groups()
        found.append(FieldTerm(field, _unescape(value), operator != "!="))
    terms = tuple(found)
    if len(terms) <= FEW:
        return FieldSelector(terms)
    return _LongFieldSelector(terms, index=FieldIndex((each.field, each.value, each.equal) for each in terms))


def _unescape(value: str) -> str:
    for sequence in _escape_sequence.findall(value):
        if sequence[1:] not in ("\\", ",", "="):
            raise SelectorError(f"invalid field selector: invalid escape sequence: {sequence}")
    if "=" in _escape_sequence.sub("", value):
        raise SelectorError(f"invalid field selector: unescaped character in value: {ord('=')}")
    return _escape_sequence.sub(lambda sequence: sequence.group()[1:], value)


def _escape(value: str) -> str:
    return re.sub(r"([\\,=])", r"\\\1", value)
