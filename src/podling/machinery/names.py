"""Formats of names, labels and keys, with the messages of ``apimachinery/pkg/util/validation``.

Every function takes a string and returns the list of its errors, empty for a valid one; callers
wrap each text into a field error of their own. The regular expressions are shown to users
inside the texts, so they are Kubernetes' own, letter for letter, and matched against the whole string.
Lengths are in bytes of UTF-8, as Go counts them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE = rf"{_LABEL_UNDERSCORE}(\.{_LABEL_UNDERSCORE})*"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY_NAME})?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_HTTP_HEADER = "[-A-Za-z0-9]+"
_HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
_PERCENT = "[0-9]+%"

LABEL_VALUE_MAX_LENGTH = 63
QUALIFIED_NAME_MAX_LENGTH = 63
DNS_LABEL_MAX_LENGTH = 63
DNS_SUBDOMAIN_MAX_LENGTH = 253

REMEMBERED = 4096
"""So many keys and values of labels are matched once only: few are in use, and by very many objects."""

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_UNDERSCORE_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_WILDCARD_TEXT = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
    "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
_KEY_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_C_IDENTIFIER_TEXT = (
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'"
)
_CONFIG_KEY_TEXT = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_RELAXED_ENV_VAR_TEXT = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_HTTP_HEADER_TEXT = "a valid HTTP header must consist of alphanumeric characters or '-'"
_IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_CIDR_TEXT = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_PERCENT_TEXT = "a valid percent string must be a numeric string followed by an ending '%'"


def _matcher(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(pattern).fullmatch


_is_label = _matcher(_LABEL)
_is_subdomain = _matcher(_SUBDOMAIN)
_is_subdomain_underscore = _matcher(_SUBDOMAIN_UNDERSCORE)
_is_label_1035 = _matcher(_LABEL_1035)
_is_wildcard = _matcher(_WILDCARD)
_is_key_name = _matcher(_KEY_NAME)
_is_short_qualified_name = lru_cache(REMEMBERED)(_matcher(f"({_SUBDOMAIN}/)?{_KEY_NAME}"))
_is_label_value = _matcher(_LABEL_VALUE)
_is_short_label_value = lru_cache(REMEMBERED)(_is_label_value)
_is_c_identifier = _matcher(_C_IDENTIFIER)
_is_config_key = _matcher(_CONFIG_KEY)
_is_http_header = _matcher(_HTTP_HEADER)
_is_http_path = _matcher(_HTTP_PATH)
_is_percent = _matcher(_PERCENT)
_is_printable_ascii = _matcher("[ -<>-~]*")


def max_length_error(length: int) -> str:
    return f"must be no more than {length} characters"


def regex_error(message: str, pattern: str, *examples: str) -> str:
    """Return Kubernetes' message for a value that does not match: the rule, examples, the pattern."""
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


_KEY_NAME_ERROR = regex_error(_KEY_NAME_TEXT, _KEY_NAME, "MyName", "my.name", "123-abc")


def inclusive_range_error(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def _longer_than(value: str, length: int) -> list[str]:
    if len(value) <= length and (value.isascii() or len(value.encode()) <= length):
        return []
    return [max_length_error(length)]


def dns_label_errors(value: str) -> list[str]:
    """RFC 1123 label: names of containers, namespaces, volumes."""
    errors = _longer_than(value, DNS_LABEL_MAX_LENGTH)
    if not _is_label(value):
        if _is_subdomain(value):
            errors.append("must not contain dots")
        else:
            errors.append(regex_error(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return errors


def dns_subdomain_errors(value: str) -> list[str]:
    """RFC 1123 subdomain: the names of most objects."""
    errors = _longer_than(value, DNS_SUBDOMAIN_MAX_LENGTH)
    if not _is_subdomain(value):
        errors.append(regex_error(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return errors


def dns_subdomain_with_underscore_errors(value: str) -> list[str]:
    """Return a subdomain that may hold underscores: search domains of a pod's DNS."""
    errors = _longer_than(value, DNS_SUBDOMAIN_MAX_LENGTH)
    if not _is_subdomain_underscore(value):
        errors.append(regex_error(_SUBDOMAIN_UNDERSCORE_TEXT, _SUBDOMAIN_UNDERSCORE, "example.com"))
    return errors


def wildcard_dns_subdomain_errors(value: str) -> list[str]:
    """``*.`` and a subdomain: hosts of ingresses."""
    errors = _longer_than(value, DNS_SUBDOMAIN_MAX_LENGTH)
    if not _is_wildcard(value):
        errors.append(regex_error(_WILDCARD_TEXT, _WILDCARD, "*.example.com"))
    return errors


def dns_1035_label_errors(value: str) -> list[str]:
    """RFC 1035 label: names of services."""
    errors = _longer_than(value, DNS_LABEL_MAX_LENGTH)
    if not _is_label_1035(value):
        errors.append(regex_error(_LABEL_1035_TEXT, _LABEL_1035, "my-name", "abc-123"))
    return errors


def qualified_name_errors(value: str) -> list[str]:
    """``name`` or ``prefix/name``: label keys, annotation keys, resource names, taint keys."""
    if len(value) <= QUALIFIED_NAME_MAX_LENGTH and _is_short_qualified_name(value):
        return []
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_KEY_NAME_ERROR} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    errors = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in dns_subdomain_errors(prefix)]
    if not name:
        errors.append("name part must be non-empty")
    else:
        errors += [f"name part {error}" for error in _longer_than(name, QUALIFIED_NAME_MAX_LENGTH)]
    if not _is_key_name(name):
        errors.append(f"name part {_KEY_NAME_ERROR}")
    return errors


def label_value_errors(value: str) -> list[str]:
    if len(value) <= LABEL_VALUE_MAX_LENGTH and _is_short_label_value(value):
        return []
    errors = _longer_than(value, LABEL_VALUE_MAX_LENGTH)
    if not _is_label_value(value):
        errors.append(regex_error(_LABEL_VALUE_TEXT, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return errors


def port_name_errors(value: str) -> list[str]:
    """Names of container and service ports (RFC 6335, lower case only)."""
    errors = _longer_than(value, 15)
    if not re.fullmatch("[-a-z0-9]+", value):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        errors.append("must contain at least one letter (a-z)")
    if "--" in value:
        errors.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def port_number_errors(value: int) -> list[str]:
    return [] if 1 <= value <= 65535 else [inclusive_range_error(1, 65535)]


def env_var_name_errors(value: str) -> list[str]:
    """Names of environment variables, relaxed: any printable ASCII but ``=``."""
    errors = [] if value else ["environment variable name must be non-empty"]
    if not _is_printable_ascii(value):
        errors.append(_RELAXED_ENV_VAR_TEXT)
    return errors


def c_identifier_errors(value: str) -> list[str]:
    if _is_c_identifier(value):
        return []
    return [regex_error(_C_IDENTIFIER_TEXT, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName")]


def config_map_key_errors(value: str) -> list[str]:
    """Keys of config maps and secrets: they become file names."""
    errors = _longer_than(value, DNS_SUBDOMAIN_MAX_LENGTH)
    if not _is_config_key(value):
        errors.append(regex_error(_CONFIG_KEY_TEXT, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    return errors + _parent_folder(value)


def _parent_folder(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def path_segment_errors(value: str) -> list[str]:
    """Check a segment of a URL's path, such as the name of an RBAC object."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return path_segment_prefix_errors(value)


def path_segment_prefix_errors(value: str) -> list[str]:
    return [f"may not contain '{character}'" for character in "/%" if character in value]


def percent_errors(value: str) -> list[str]:
    return [] if _is_percent(value) else [regex_error(_PERCENT_TEXT, _PERCENT, "1%", "93%")]


def http_header_name_errors(value: str) -> list[str]:
    if _is_http_header(value):
        return []
    return [regex_error(_HTTP_HEADER_TEXT, _HTTP_HEADER, "X-Header-Name")]


def http_path_errors(value: str) -> list[str]:
    """Return the path after a domain: what a URL may hold unescaped."""
    return [] if _is_http_path(value) else [regex_error("Invalid path", _HTTP_PATH)]


def _without_leading_zeros(value: str) -> str:
    # Kubernetes reads 010.0.0.1 as ten, the way Go once did; Python's parser refuses such octets.
    if ":" in value:
        return value
    return ".".join(part.lstrip("0") or "0" if part.isdigit() else part for part in value.split("."))


def parse_ip(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address, read as leniently as Kubernetes does (leading zeros); None if it is none."""
    if "%" in value or not value.isascii():
        return None
    try:
        return ipaddress.ip_address(_without_leading_zeros(value))
    except ValueError:
        return None


def parse_cidr(value: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    """Return the address with its prefix length; None if ``value`` is not a CIDR block."""
    address, slash, length = value.partition("/")
    if not slash or not length.isdigit() or not length.isascii() or parse_ip(address) is None:
        return None
    try:
        return ipaddress.ip_interface(f"{_without_leading_zeros(address)}/{length}")
    except ValueError:
        return None


def ip_errors(value: str) -> list[str]:
    """Return an address in a field that is older than the rules for addresses: readable, in one way only."""
    parsed = parse_ip(value)
    if parsed is None:
        return [_IP_TEXT]
    if has_leading_zeros(value):
        return ["must not have leading 0s"]
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return ["must not be an IPv4-mapped IPv6 address"]
    return []


def canonical_ip_errors(value: str) -> list[str]:
    """Return an address in a newer field: written the one way that RFC 5952 recommends."""
    return ip_errors(value) or _not_canonical(value, str(parse_ip(value)))


def cidr_errors(value: str) -> list[str]:
    """Return a block in a field that is older than the rules for blocks."""
    parsed = parse_cidr(value)
    if parsed is None:
        return [_CIDR_TEXT]
    if has_leading_zeros(value):
        return ["must not have leading 0s in IP or prefix length"]
    if isinstance(parsed.ip, ipaddress.IPv6Address) and parsed.ip.ipv4_mapped is not None:
        return ["must not have an IPv4-mapped IPv6 address"]
    if parsed.ip != parsed.network.network_address:
        return ["must not have bits set beyond the prefix length"]
    return []


def canonical_cidr_errors(value: str) -> list[str]:
    return cidr_errors(value) or _not_canonical(value, str(parse_cidr(value)))


def _not_canonical(value: str, canonical: str) -> list[str]:
    return [] if value == canonical else [f'must be in canonical form ("{canonical}")']


def has_leading_zeros(value: str) -> bool:
    """Return whether an octet or a prefix length begins with a 0 that some parsers read as octal."""
    address, _, length = value.partition("/")
    octets = () if ":" in address else address.split(".")
    return any(len(number) > 1 and number.startswith("0") for number in (*octets, length))
