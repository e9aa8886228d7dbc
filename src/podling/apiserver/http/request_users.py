"""The user of a request: of its client certificate or token, impersonated, or named by an API worker."""

from __future__ import annotations

from aiohttp import hdrs

from podling.apiserver.auth import impersonation
from podling.apiserver.auth.authn import ANONYMOUS, Authenticator
from podling.apiserver.auth.authz import RbacAuthorizer
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.options import flag
from podling.apiserver.http.request_info import attributes_of
from podling.client.requests import User


def user_of(request: HttpRequest, authenticator: Authenticator, authorizer: RbacAuthorizer) -> User:
    """Return the user of a request. Raises 401; 403 for one that may not impersonate."""
    if request.is_inside:
        from podling.apiserver.http.forwarded_user import forwarded_user

        return forwarded_user(request)
    certificate = _certificate_of(request)
    authorization = request.headers.get(hdrs.AUTHORIZATION, "")
    user = ANONYMOUS
    if certificate is not None or authorization:
        user = authenticator.user_of(certificate, authorization, request.warn_of_token)
    if impersonation.USER not in request.headers:
        return user
    return impersonation.impersonated(user, request.headers, request_attributes(request), authorizer)


def request_attributes(request: HttpRequest) -> Attributes:
    """Return the attributes of a request, as its method and path say."""
    watch = "watch" in request.query_string and flag(request.query, "watch")
    return attributes_of(request.method, request.path, watch=watch)


def _certificate_of(request: HttpRequest) -> bytes | None:
    """The client's certificate (DER) as TLS verified it. Raises ``ConnectionError`` after the end of TLS."""
    transport = request.transport
    if transport is None or not transport.get_extra_info("peercert"):
        return None
    certificate: bytes | None
    try:
        certificate = transport.get_extra_info("ssl_object").getpeercert(True)
    except ValueError as error:  # after an error of TLS there is no session, and so no certificate
        transport.close()
        raise ConnectionResetError("the TLS session has ended") from error
    return certificate
