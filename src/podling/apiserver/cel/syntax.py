"""CEL's syntax: from the text of an expression to its tree. Pure.

The grammar is that of ``google/cel-spec doc/langdef.md`` with what Kubernetes turns on beside it: optional
selections (``a.?b``, ``a[?0]``), optional items (``[?a]``) and macros with two variables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from msgspec import Struct

from podling.apiserver.cel.trees import (
    DEPTH_MAX,
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
    too_deep,
)
from podling.apiserver.cel.values import Unsigned

SIZE_MAX = 100_000
"""The most characters of an expression (cel-go's limit)."""
NOWHERE = -1
"""The place of what is wrong with an expression as a whole."""


class SyntaxProblem(Exception):
    """A text that is no expression; ``others``: what is wrong with it besides."""

    def __init__(self, text: str, at: int, others: Sequence[SyntaxProblem] = ()) -> None:
        super().__init__(text)
        self.text, self.at, self.others = text, at, others


_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
      | (?P<raw>[rR](?:'(?!'')[^'\n]*'|"(?!"")[^"\n]*"))
      | (?P<string>[rRbB]{0,2}(?:'''(?:\\.|[^\\])*?'''|\"""(?:\\.|[^\\])*?\"""
            |'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
      | (?P<float>(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
      | (?P<integer>0x[0-9a-fA-F]+[uU]?|\d+[uU]?)
      | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
      | (?P<quoted>`[a-zA-Z0-9_.\-/ ]+`)
      | (?P<sign>&&|\|\||==|!=|<=|>=|[<>+\-*/%!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_LOGIC = ("||", "&&")
_RANKS = {
    sign: rank
    for rank, signs in enumerate((("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%")))
    for sign in signs
}
"""Operators of two sides but for the logical ones: the higher, the closer they bind."""
_CONSTANTS = {"true": (True, "bool"), "false": (False, "bool"), "null": (None, "null")}
_KEYWORDS = frozenset({*_CONSTANTS, "in"})
"""Words of the grammar itself, which are no names anywhere."""
_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
})  # fmt: skip
_FOLDS: dict[str, tuple[int, ...]] = {
    "all": (2, 3), "exists": (2, 3), "exists_one": (2, 3), "existsOne": (2, 3), "filter": (2,), "map": (2, 3),
    "optMap": (2,), "optFlatMap": (2,), "sortBy": (2,),
    "transformList": (3, 4), "transformMap": (3, 4), "transformMapEntry": (3, 4),
}  # fmt: skip
"""Macros, and with how many arguments they are ones."""
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_EXPRESSION_EXPECTED = (
    "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, IDENTIFIER}"
)
_CLOSING = (")", "]", "}")
_SIMPLE = dict(zip("abfnrtv\\'\"`?", "\a\b\f\n\r\t\v\\'\"`?", strict=True))


class _Token(Struct, frozen=True):
    kind: str
    text: str
    at: int


def _tokens(text: str) -> tuple[list[_Token], list[SyntaxProblem]]:
    found, wrong, at = list[_Token](), list[SyntaxProblem](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            unknown = _unknown(text, at)
            shown = unknown.replace("\n", "\\n")
            wrong.append(SyntaxProblem(f"Syntax error: token recognition error at: '{shown}'", at))
            at += len(unknown)
            continue
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(_Token(kind, match.group(), at))
        at = match.end()
    return [*found, _Token("end", "<EOF>", len(text))], wrong


def _unknown(text: str, at: int) -> str:
    """Return the text to skip where no token is: up to the character that excludes a token."""
    if text[at] in "=&|":
        return text[at : at + 2]
    if text[at] in "'\"":
        return text[at:].partition("\n")[0] + ("\n" if "\n" in text[at:] else "")
    return text[at]


def parse(text: str) -> Node:
    """Return the tree of an expression. Raises ``SyntaxProblem``."""
    if len(text) > SIZE_MAX:
        why = f"expression code point size exceeds limit: size: {len(text)}, limit {SIZE_MAX}"
        raise SyntaxProblem(why, NOWHERE)
    tokens, wrong = _tokens(text)
    parser = _Parser(tokens)
    try:
        tree = parser.expression()
        parser.finish()
    except SyntaxProblem as problem:
        raise SyntaxProblem(problem.text, problem.at, [*wrong, *parser.problems]) from None
    wrong += parser.problems
    if wrong:
        raise SyntaxProblem(wrong[0].text, wrong[0].at, wrong[1:])
    if too_deep(tree):
        raise SyntaxProblem("max recursion depth exceeded", NOWHERE)
    return tree


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._position, self._depth = tokens, 0, 0
        self.problems: list[SyntaxProblem] = []
        """Errors after which parsing could continue."""

    @property
    def token(self) -> _Token:
        return self._tokens[self._position]

    @property
    def after(self) -> _Token:
        """The token after the next one."""
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def fail(self, why: str) -> NoReturn:
        raise SyntaxProblem(f"Syntax error: mismatched input '{self.token.text}' {why}", self.token.at)

    def finish(self) -> None:
        """Nothing may be left."""
        if self.token.kind == "end":
            return
        if self.after.kind == "end":
            raise _unwanted(self.token, "expecting <EOF>")
        self.fail("expecting <EOF>")

    def _take(self) -> _Token:
        token = self.token
        self._position += 1
        return token

    def _sees(self, *signs: str) -> bool:
        return self.token.kind in ("sign", "name") and self.token.text in signs

    def _expect(self, sign: str) -> _Token:
        if not self._sees(sign):
            if self.token.kind == "end" and sign in _CLOSING:
                raise SyntaxProblem(f"Syntax error: missing '{sign}' at '<EOF>'", self.token.at)
            self.fail(f"expecting '{sign}'")
        return self._take()

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise SyntaxProblem(f"expression recursion limit exceeded: {DEPTH_MAX}", NOWHERE)
        condition = self._logical(0)
        if self._sees("?"):
            at = self._take().at
            yes = self._logical(0)
            self._expect(":")
            condition = Call("_?_:_", None, (condition, yes, self.expression()), at)
        self._depth -= 1
        return condition

    def _logical(self, level: int) -> Node:
        """Return a row of ``||`` or of ``&&``: however long it is, its tree is not deep."""
        if level == len(_LOGIC):
            return self._infix(0)
        terms, places = [self._logical(level + 1)], list[int]()
        while self._sees(_LOGIC[level]):
            places.append(self._take().at)
            terms.append(self._logical(level + 1))
        return _balanced(f"_{_LOGIC[level]}_", terms, places)

    def _infix(self, least: int) -> Node:
        left = self._unary()
        while self.token.kind in ("sign", "name") and _RANKS.get(self.token.text, -1) >= least:
            sign = self._take()
            name = "@in" if sign.text == "in" else f"_{sign.text}_"
            left = Call(name, None, (left, self._infix(_RANKS[sign.text] + 1)), sign.at)
        return left

    def _unary(self) -> Node:
        signs: list[_Token] = []
        while self._sees("!", "-"):
            sign = self._take()
            if signs and signs[-1].text == sign.text:
                signs.pop()  # two of them say nothing
            else:
                signs.append(sign)
        if signs and signs[-1].text == "-" and self.token.kind in ("integer", "float"):
            operand = self._members(_number(self._take(), sign=signs.pop()))
        else:
            operand = self._members(self._primary())
        for sign in reversed(signs):
            operand = Call("!_" if sign.text == "!" else "-_", None, (operand,), sign.at)
        return operand

    def _members(self, operand: Node) -> Node:
        while True:
            if self._sees("."):
                operand = self._member(operand)
            elif self._sees("["):
                at = self._take().at
                optional = self._skip("?")
                operand = Index(operand, self.expression(), at, optional)
                self._expect("]")
            elif self._sees("{") and (type_ := _qualified(operand)):
                operand = self._make(type_)
            else:
                return operand

    def _make(self, type_: str) -> Node:
        at = self._expect("{").at
        found: list[tuple[str, Node, bool]] = []
        while not self._sees("}"):
            optional = self._skip("?")
            if self.token.kind not in ("name", "quoted"):
                self.fail("expecting IDENTIFIER")
            name = self._take().text.strip("`")
            self._expect(":")
            found.append((name, self.expression(), optional))
            if not self._skip(","):
                break
        self._expect("}")
        return Make(type_, tuple(found), at)

    def _skip(self, sign: str) -> bool:
        if self._sees(sign):
            self._take()
            return True
        return False

    def _member(self, operand: Node) -> Node:
        dot = self._take()
        optional = self._skip("?")
        if self.token.kind not in ("name", "quoted") or self.token.text in _KEYWORDS:
            self.fail("expecting IDENTIFIER")
        field = self._take().text.strip("`")
        if optional or not self._sees("("):
            return Select(operand, field, dot.at, optional)
        at, arguments = self._arguments()
        return _method(operand, field, arguments, at)

    def _arguments(self) -> tuple[int, tuple[Node, ...]]:
        at = self._expect("(").at
        found: list[Node] = []
        while not self._sees(")"):
            found.append(self.expression())
            if not self._skip(","):
                break
        self._expect(")")
        return at, tuple(found)

    def _primary(self) -> Node:
        token = self._take()
        if token.kind in ("integer", "float"):
            return _number(token)
        if token.kind in ("string", "raw"):
            return _string(token)
        if token.kind == "name":
            return self._named(token)
        if token.kind == "sign":
            if token.text == "(":
                inner = self.expression()
                self._expect(")")
                return inner
            if token.text == "[":
                return self._list(token.at)
            if token.text == "{":
                return self._map(token.at)
            if token.text == "." and self.token.kind == "name":
                return self._named(self._take())
        if token.kind != "end" and self._begins(self.token):
            self.problems.append(_unwanted(token, _EXPRESSION_EXPECTED))
            return self._primary()
        self._position -= 1
        self.fail(_EXPRESSION_EXPECTED)

    def _begins(self, token: _Token) -> bool:
        """Return whether an expression can begin with this."""
        return token.kind not in ("sign", "end") or token.text in ("[", "{", "(", ".", "-", "!")

    def _named(self, token: _Token) -> Node:
        if token.text in _CONSTANTS:
            value, type_ = _CONSTANTS[token.text]
            return Literal(value, type_, token.at)
        if token.text in _RESERVED:
            raise SyntaxProblem(f"reserved identifier: {token.text}", token.at)
        if not self._sees("("):
            return Name(token.text, token.at)
        at, arguments = self._arguments()
        if token.text == "has" and len(arguments) == 1:
            (field,) = arguments
            if not isinstance(field, Select):
                raise SyntaxProblem("invalid argument to has() macro", at)
            return Select(field.operand, field.field, at, asked=True)
        return Call(token.text, None, arguments, at)

    def _list(self, at: int) -> Node:
        items: list[Node] = []
        optional: set[int] = set()
        while not self._sees("]") and not (items and self.token.kind == "end"):
            if self._skip("?"):
                optional.add(len(items))
            items.append(self.expression())
            if not self._skip(","):
                break
        self._expect("]")
        return ListOf(tuple(items), at, frozenset(optional))

    def _map(self, at: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        optional: set[int] = set()
        while not self._sees("}") and not (entries and self.token.kind == "end"):
            if self._skip("?"):
                optional.add(len(entries))
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression()))
            if not self._skip(","):
                break
        self._expect("}")
        return MapOf(tuple(entries), at, frozenset(optional))


def _unwanted(token: _Token, why: str) -> SyntaxProblem:
    """Return a token without which all would be well."""
    return SyntaxProblem(f"Syntax error: extraneous input '{token.text}' {why}", token.at)


def _balanced(name: str, terms: list[Node], places: list[int]) -> Node:
    """Return the tree of a row of terms with the same operator between them."""
    if not places:
        return terms[0]
    middle = len(places) // 2
    left = _balanced(name, terms[: middle + 1], places[:middle])
    right = _balanced(name, terms[middle + 1 :], places[middle + 1 :])
    return Call(name, None, (left, right), places[middle])


def _method(operand: Node, name: str, arguments: tuple[Node, ...], at: int) -> Node:
    count = len(arguments)
    if count not in _FOLDS.get(name, ()):
        return Call(name, operand, arguments, at)
    kind = "exists_one" if name == "existsOne" else name
    pairs = (count == 3 and name != "map") or count == 4
    second = _variable(arguments[1]) if pairs else ""
    rest = arguments[2:] if pairs else arguments[1:]
    condition = rest[0] if len(rest) == 2 else None
    return Fold(kind, operand, _variable(arguments[0]), condition, rest[-1], at, second)


def _qualified(node: Node) -> str:
    """``Object.spec`` as the name of a type; empty for what is none."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Select) and not (node.optional or node.asked):
        before = _qualified(node.operand)
        return f"{before}.{node.field}" if before else ""
    return ""


def _variable(node: Node) -> str:
    if not isinstance(node, Name):
        raise SyntaxProblem("argument must be a simple name", node.at)
    return node.name


def _number(token: _Token, *, sign: _Token | None = None) -> Literal:
    """Return a number; ``sign``: the minus before it."""
    text, times, at = token.text, 1 if sign is None else -1, token.at if sign is None else sign.at
    if token.kind == "float":
        return Literal(times * float(text), "double", at)
    unsigned = text[-1] in "uU" and not (text.startswith("0x") and text[-1] not in "uU")
    value = times * int(text.rstrip("uU"), 16 if text.startswith("0x") else 10)
    if unsigned and not 0 <= value < 2**64:
        raise SyntaxProblem("invalid uint literal", at)
    if not unsigned and not -(2**63) <= value < 2**63:
        raise SyntaxProblem("invalid int literal", at)
    return Literal(Unsigned(value), "uint", at) if unsigned else Literal(value, "int", at)


def _string(token: _Token) -> Literal:
    prefix = re.match(r"[rRbB]*", token.text)
    assert prefix is not None
    marks = prefix.group().lower()
    body = token.text[len(marks) :]
    quote = 3 if body[:3] in ("'''", '"""') else 1
    body = body[quote:-quote]
    if "r" not in marks:
        body = _ESCAPE.sub(lambda match: _unescaped(match, token.at), body)
    return Literal(body.encode(), "bytes", token.at) if "b" in marks else Literal(body, "string", token.at)


def _unescaped(match: re.Match[str], at: int) -> str:
    code = next((each for each in match.groups()[:4] if each), None)
    if code is not None:
        return chr(int(code, 16))
    if match.group(5):
        return chr(int(match.group(5), 8))
    found = _SIMPLE.get(match.group(6))
    if found is None:
        raise SyntaxProblem("Syntax error: unable to unescape string", at)
    return found
