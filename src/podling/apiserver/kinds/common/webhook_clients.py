"""Validation of webhook client configurations: a URL or a Service.

Upstream: ``ValidateWebhookURL`` and ``ValidateWebhookService`` in ``apiserver/pkg/util/webhook``.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, names
from podling.machinery.certificate_requests import BLOCK, pem_of
from podling.machinery.fields import Path

_FORM = "; desired format: https://host[/path]"


def client_errors(path: Path, config: Any) -> Errors:
    """Return the errors in a ``WebhookClientConfig`` of either API group: exactly one of URL and Service."""
    if (config.url is None) == (config.service is None):
        return [fields.required(path, "exactly one of url or service is required")]
    if config.url is not None:
        return url_errors(path.child("url"), config.url)
    return service_errors(path.child("service"), config.service)


def ca_bundle_errors(path: Path, bundle: str) -> Errors:
    """Return an error unless the base64 text is PEM with at least one certificate."""
    problem = _bundle_problem(pem_of(bundle))
    return [fields.invalid(path, bundle, f"unable to load root certificates: {problem}")] if problem else []


def _bundle_problem(pem: bytes) -> str:
    from cryptography import x509  # deferred: few definitions need it

    blocks = list(BLOCK.finditer(pem))
    problem = "no valid certificate authority data seen" if blocks else "unable to parse bytes as PEM block"
    for block in blocks:
        if block[1] != b"CERTIFICATE":
            continue
        try:
            x509.load_pem_x509_certificate(block[0])
        except ValueError as error:
            problem = f"failed to parse certificate: {error}"
        else:
            return ""
    return problem


def url_errors(path: Path, url: str) -> Errors:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [fields.required(path, f"url must be a valid URL: {error}{_FORM}")]
    errors: Errors = []
    if parts.scheme != "https":
        errors.append(fields.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        errors.append(fields.invalid(path, host, f"host must be provided{_FORM}"))
    if at:
        errors.append(fields.invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(fields.invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(fields.invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def service_errors(path: Path, service: Any) -> Errors:
    """Return the errors in a ``ServiceReference`` whose port has been defaulted."""
    errors: Errors = []
    if not service.name:
        errors.append(fields.required(path.child("name"), "service name is required"))
    if not service.namespace:
        errors.append(fields.required(path.child("namespace"), "service namespace is required"))
    port = service.port or 0
    problems = names.port_number_errors(port)
    if problems:
        errors.append(fields.invalid(path.child("port"), port, f"port is not valid: {', '.join(problems)}"))
    return errors + _path_errors(path.child("path"), service.path)


def _path_errors(path: Path, value: str | None) -> Errors:
    if not value or value == "/":
        return []
    if value == "//":
        return [fields.invalid(path, value, "segment[0] may not be empty")]
    errors: Errors = []
    if not value.startswith("/"):
        errors.append(fields.invalid(path, value, "must start with a '/'"))
    for position, segment in enumerate(value[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(fields.invalid(path, value, f"segment[{position}] may not be empty"))
            continue
        for problem in names.dns_subdomain_errors(segment):
            errors.append(fields.invalid(path, value, f"segment[{position}]: {problem}"))
    return errors
