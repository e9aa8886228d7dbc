"""CEL's named formats in Kubernetes: ``format.dns1123Label().validate('My-Name')``.

Source: ``k8s.io/apiserver/pkg/cel/library/format.go``.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from podling.apiserver.cel.functions import add
from podling.apiserver.cel.values import Optional, is_of_kind
from podling.machinery import names
from podling.machinery.formats import matches
from podling.machinery.urls import parse_request_uri

FORMAT = "kubernetes.NamedFormat"
Check = Callable[[str], list[str]]


class Format(Struct, frozen=True):
    """A format that texts may have; ``check`` says what is wrong with one."""

    name: str
    check: Check


def _prefix(check: Check) -> Check:
    """Return the errors of a name's prefix: a dash at its end is valid."""
    return lambda text: check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


def _url_errors(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


def _of(name: str, wrong: str) -> Check:
    return lambda text: [] if matches(name, text) else [wrong]


_CHECKS: dict[str, Check] = {
    "dns1123Label": names.dns_label_errors,
    "dns1123Subdomain": names.dns_subdomain_errors,
    "dns1035Label": names.dns_1035_label_errors,
    "qualifiedName": names.qualified_name_errors,
    "dns1123LabelPrefix": _prefix(names.dns_label_errors),
    "dns1123SubdomainPrefix": _prefix(names.dns_subdomain_errors),
    "dns1035LabelPrefix": _prefix(names.dns_1035_label_errors),
    "labelValue": names.label_value_errors,
    "uri": _url_errors,
    "uuid": _of("uuid", "does not match the UUID format"),
    "byte": _of("byte", "invalid base64"),
    "date": _of("date", "invalid date"),
    "datetime": _of("datetime", "invalid datetime"),
}
FORMATS = {name: Format(name, check) for name, check in _CHECKS.items()}


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return Optional(found, found is not None)


def _validated(form: Format, text: str) -> Optional:
    errors = form.check(text)
    return Optional(errors, True) if errors else Optional()


def _add_formats() -> None:
    is_of_kind(Format, FORMAT)
    add("format.named", "", "string", f"optional({FORMAT})", _named)
    for name, form in FORMATS.items():
        add(f"format.{name}", "", "", FORMAT, lambda form=form: form)
    add("validate", FORMAT, "string", "optional(list(string))", _validated)


_add_formats()
