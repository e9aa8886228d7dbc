"""Validation of signer names (``domain/path``) and of the names of trust bundles.

Upstream: ``ValidateSignerName`` and ``ValidateClusterTrustBundleName`` in ``pkg/apis/core/validation``.
"""

from __future__ import annotations

from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

LONGEST_SIGNER = 571
_COLON = 'ClusterTrustBundle without signer name must not have ":" in its name'


def signer_name_errors(path: Path, name: str) -> Errors:
    """Return the errors in a signer name. Its limit leaves space for a namespace and a name in the path."""
    if not name:
        return [fields.required(path)]
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [fields.invalid(path, name, text)]
    errors: Errors = []
    if len(domain.encode()) > names.DNS_SUBDOMAIN_MAX_LENGTH:
        errors.append(fields.too_long(path, names.DNS_SUBDOMAIN_MAX_LENGTH))
    errors += _part_errors(path, domain, is_domain=True)
    if "." not in domain:
        text = "should be a domain with at least two segments separated by dots"
        errors.append(fields.invalid(path, domain, text))
    errors += _part_errors(path, rest, is_domain=False)
    if len(name.encode()) > LONGEST_SIGNER:
        errors.append(fields.too_long(path, LONGEST_SIGNER))
    return errors


def _part_errors(path: Path, text: str, *, is_domain: bool) -> Errors:
    """Return the errors of the first bad label only: more would repeat them."""
    check = names.dns_label_errors if is_domain else names.dns_subdomain_errors
    for label in text.split("."):
        problems = [f'validating label "{label}": {problem}' for problem in check(label)]
        if problems:
            return fields.invalid_each(path, text, problems)
    return []


def bundle_problems(name: str, signer: str) -> list[str]:
    """Return what is wrong with the name of a trust bundle of this signer; empty is a bundle without one."""
    prefix = f"{signer.replace('/', ':')}:" if signer else ""
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    if not signer and ":" in name:
        return [_COLON]
    return names.dns_subdomain_errors(name.removeprefix(prefix))


def bundle_name_errors(path: Path, name: str) -> Errors:
    """Return the errors in a bundle's name: ``domain:path:name`` with a signer, a plain name without."""
    parts = name.split(":")
    if len(parts) not in (1, 3):
        problems = [_COLON]
    else:
        problems = names.dns_subdomain_errors(parts[-1])
    return [fields.invalid(path, name, f"not a valid clustertrustbundlename: {text}") for text in problems]
