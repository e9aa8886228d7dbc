"""API errors: the one exception that becomes a Kubernetes ``Status`` on the wire.

Reasons, codes and messages are those of apimachinery ``pkg/api/errors``. Every layer above raises
these; the API server's outer edge and the clients translate them to and from ``metav1.Status``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import structs

from podling.api.meta_v1 import Status, StatusCause, StatusDetails
from podling.machinery.fields import FieldError, aggregate


class ApiError(Exception):
    """A request failed in a way the API defines. ``status`` is what the client gets."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message or status.reason or "unknown")
        self.status = status

    @property
    def code(self) -> int:
        return self.status.code or 500

    @property
    def reason(self) -> str:
        return self.status.reason or ""

    @property
    def retry_after(self) -> int | None:
        """Seconds to wait before a retry (``Retry-After``), if the server states them."""
        return self.status.details.retry_after_seconds or None if self.status.details else None


def failure(code: int, reason: str, message: str, details: StatusDetails | None = None) -> ApiError:
    """Return an error with any code and reason; the named constructors below are preferred."""
    status = Status(status="Failure", code=code, reason=reason, message=message, details=details)
    return ApiError(status)


def qualified(resource: str, group: str) -> str:
    """Return a resource with its group, as messages name it: ``pods``, ``deployments.apps``."""
    return f"{resource}.{group}" if group else resource


def _about(resource: str, group: str, name: str) -> StatusDetails:
    return StatusDetails(name=name, group=group, kind=resource)


def not_found(resource: str, group: str, name: str) -> ApiError:
    return failure(
        404, "NotFound", f'{qualified(resource, group)} "{name}" not found', _about(resource, group, name)
    )


def already_exists(resource: str, group: str, name: str) -> ApiError:
    message = f'{qualified(resource, group)} "{name}" already exists'
    return failure(409, "AlreadyExists", message, _about(resource, group, name))


OPTIMISTIC_LOCK = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def conflict(resource: str, group: str, name: str, why: str = OPTIMISTIC_LOCK) -> ApiError:
    message = f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}'
    return failure(409, "Conflict", message, _about(resource, group, name))


def other_object(
    resource: str, group: str, name: str, *, key: str, asked: str, found: str, by: str = "UID"
) -> ApiError:
    """409: a write names another UID, or revision, than the stored object has; ``key`` is where it is."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: {by} in precondition: {asked}, {by} in object meta: {found}"
    )
    return conflict(resource, group, name, why)


def name_taken_every_time(resource: str, group: str, name: str) -> ApiError:
    """409: every name that was made from ``generateName`` is taken."""
    taken = already_exists(resource, group, name)
    message = f"{taken.status.message}, the server was not able to generate a unique name for the object"
    details = structs.replace(taken.status.details or StatusDetails(), retry_after_seconds=1)
    return failure(409, "AlreadyExists", message, details)


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422 with one cause per field error. ``kind`` is the kind (``Pod``), not the resource."""
    causes = tuple(
        StatusCause(reason=error.type.value, message=error.body(), field_=error.field) for error in errors
    )
    details = StatusDetails(name=name, group=group, kind=kind, causes=causes)
    return failure(
        422, "Invalid", f'{qualified(kind, group)} "{name}" is invalid: {aggregate(errors)}', details
    )


def bad_request(message: str) -> ApiError:
    return failure(400, "BadRequest", message)


def unfit_patch(why: str) -> ApiError:
    """422 with the one message that Kubernetes has for patches that do not fit; ``why`` stays here."""
    text = "the server rejected our request due to an error in our request"
    error = failure(422, "Invalid", text, StatusDetails())
    error.add_note(why)
    return error


def unauthorized(message: str = "Unauthorized") -> ApiError:
    return failure(401, "Unauthorized", message)


def forbidden(resource: str, group: str, name: str, why: str) -> ApiError:
    subject = f'{qualified(resource, group)} "{name}"' if name else qualified(resource, group)
    message = f"{subject} is forbidden: {why}" if subject else f"forbidden: {why}"
    return failure(403, "Forbidden", message, _about(resource, group, name))


def method_not_allowed(resource: str, group: str, verb: str) -> ApiError:
    message = f'{verb} is not supported on resources of kind "{qualified(resource, group)}"'
    return failure(405, "MethodNotAllowed", message, _about(resource, group, ""))


def no_such_resource() -> ApiError:
    """404: the path names nothing that is served."""
    return failure(404, "NotFound", "the server could not find the requested resource", StatusDetails())


def no_such_method() -> ApiError:
    """405: the path names something, which has no answer to this method."""
    message = "the server does not allow this method on the requested resource"
    return failure(405, "MethodNotAllowed", message, StatusDetails())


def not_acceptable(accepted: Sequence[str]) -> ApiError:
    message = "only the following media types are accepted: " + ", ".join(accepted)
    return failure(406, "NotAcceptable", message)


def not_acceptable_form(asked: str, why: str) -> ApiError:
    return failure(406, "NotAcceptable", f"you requested {asked}, but the requested object {why}")


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    message = "the body of the request was in an unknown format - accepted media types include: "
    return failure(415, "UnsupportedMediaType", message + ", ".join(accepted))


def too_large(why: str) -> ApiError:
    return failure(413, "RequestEntityTooLarge", f"Request entity too large: {why}")


STORAGE_TOO_LARGE = "etcdserver: request is too large"


def storage_too_large() -> ApiError:
    """500: the object is larger than the storage takes; the words are those of etcd."""
    return failure(500, "", STORAGE_TOO_LARGE)


def is_storage_too_large(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.status.message == STORAGE_TOO_LARGE


def expired(message: str) -> ApiError:
    """410: the requested revision is compacted; list again."""
    return failure(410, "Expired", message)


def gateway_timeout(message: str, retry_after_seconds: int = 0) -> ApiError:
    details = StatusDetails(retry_after_seconds=retry_after_seconds)
    return failure(504, "Timeout", f"Timeout: {message}", details)


def service_unavailable(message: str) -> ApiError:
    return failure(503, "ServiceUnavailable", message)


def internal(message: str) -> ApiError:
    details = StatusDetails(causes=(StatusCause(message=message),))
    return failure(500, "InternalError", f"Internal error occurred: {message}", details)


def storage_error(key: str, revision: int, why: str) -> str:
    """Return how Kubernetes names a stored value that cannot be decoded (``storage.NewCorruptObjError``)."""
    return (
        f"StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"object not decodable revision={revision}: {why}"
    )


def corrupt_object(key: str, revision: int, why: str) -> ApiError:
    """500: a stored value is not an object of its kind."""
    return internal(storage_error(key, revision, why))


def unreadable_objects(resource: str, group: str, causes: Sequence[StatusCause]) -> ApiError:
    """500: a list holds values that are not objects of its kind (``aggregatedStorageError``)."""
    details = StatusDetails(name="list", group=group, kind=resource, causes=tuple(causes))
    message = f"failed to read one or more {qualified(resource, group)} from the storage"
    return failure(500, "StorageReadError", message, details)


def is_not_found(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.reason == "NotFound"


@contextmanager
def unless_gone() -> Iterator[None]:
    """For a change that is not needed any more when its object is gone: a 404 ends the block, quietly."""
    try:
        yield
    except ApiError as error:
        if not is_not_found(error):
            raise


def is_already_exists(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.reason == "AlreadyExists"


def is_conflict(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.reason == "Conflict"


def is_invalid(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.reason == "Invalid"


def is_expired(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.reason in ("Expired", "Gone")
