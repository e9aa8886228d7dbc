"""``KindRules``: the strategy that each kind adds to the generic stages of a request.

The generic stages (``apiserver/registry/registry.py``) handle what all kinds share: names, metadata,
revisions, finalizers, deletion. A kind with rules of its own subclasses ``KindRules`` in its own file and
overrides only what differs. Everything here is pure: objects in, objects or errors out.

Upstream counterpart: the ``strategy.go`` files under ``pkg/registry`` with ``pkg/apis/*/validation``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from msgspec import Struct, structs

from podling.api.meta_v1 import DeleteOptions
from podling.machinery.fields import FieldError
from podling.machinery.names import dns_subdomain_errors
from podling.machinery.tables import Column

T = TypeVar("T", bound=Any)


class Context(Struct, frozen=True):
    """The request's data that a rule may use beside the objects.

    ``subresource`` is empty for the main resource; ``now`` is read once per request; ``groups``, ``uid`` and
    ``extra`` are the user's.
    """

    now: datetime
    user: str = ""
    subresource: str = ""
    dry_run: bool = False
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = {}


class RowCondition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mark on a table row (``meta.k8s.io/v1`` TableRowCondition)."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class View(Struct, frozen=True):
    """A subresource that reads and writes part of its object as another kind: ``scale``."""

    body: type[Any]
    show: Callable[[Any], Any]
    """Returns the body for an object. The rule also sets the body's metadata."""
    put: Callable[[Any, Any, Context], Any]
    """Returns the changed object for (object, new body). The kind's own update rules apply to it."""
    validate: Callable[[Any], list[FieldError]] = lambda body: []
    """Returns the errors in a new body."""
    read_error: Callable[[Any], str] = lambda obj: ""
    """Returns the reason why the object cannot be read through this view (500); empty if it can."""
    replicas_path: tuple[str, ...] = ("spec", "replicas")
    """The object's path for ``spec.replicas`` of the body. The manager of an apply to the view owns it."""
    table: KindRules[Any] | None = None
    """The rules for tables of the body; None for name and age only."""


class Action(Struct, frozen=True):
    """A subresource that is only created and thereby changes its object: ``pods/binding``."""

    body: type[Any]
    act: Callable[[Any, Any, Context], Any]
    """Returns the changed object for (object, body); raises ``ApiError`` to refuse. The changed object is
    stored as it is: the action alone decides what it may change."""
    validate: Callable[[Any], list[FieldError]] = lambda body: []


Subresource = View | Action
"""The subresources that a kind may define. Subresources with the object itself as body (``status``,
``resize``, ``ephemeralcontainers``, ``finalize``) need no entry: they are updates with
``Context.subresource`` set. The server itself implements those that need several objects (``eviction``,
``token``) or a connection (``log``, ``exec``)."""


class KindRules(Generic[T]):
    """The default rules: no defaults, no validation, status reset on create and update."""

    status_subresource: bool = False
    """True if ``/status`` exists. Writes to the main resource then keep the stored status, and writes to
    ``/status`` keep everything else except metadata that a status writer may set."""

    status_keeps_metadata: bool = False
    """True if a write to ``/status`` also keeps the metadata."""

    generation: bool = False
    """True if ``metadata.generation`` starts at 1 and rises with every change of ``spec``."""

    grace_seconds: int = 0
    """The default seconds of graceful deletion; 0 deletes objects at once (pods override ``grace_for``)."""

    unconditional_update: bool = True
    """True if an update without a ``resourceVersion`` overwrites any stored version."""

    bare_finalizers: bool = False
    """True if finalizers may lack a domain; only custom resources allow it."""

    create_on_update: bool = False
    """True if a PUT to a name that does not exist creates the object (leases, endpoints, roles ...)."""

    uuid_as_name: bool = False
    """True if an object without a name is named by a new UUID, which is not its UID (limit ranges)."""

    returns_deleted: bool = False
    """True if an immediate deletion returns the object instead of a ``Status``."""

    orphans_dependents: bool = False
    """True if a deletion without a propagation policy orphans the dependents, as the oldest kinds do. All
    other kinds delete dependents in the background."""

    subresources: Mapping[str, Subresource] = MappingProxyType({})
    """The subresources with a body of their own, by name."""

    deprecation: str = ""
    """The deprecation warning for every request of this kind."""

    def default(self, obj: T) -> T:
        """Return ``obj`` with the kind's defaults, as ``zz_generated.defaults.go`` sets them on decoding."""
        return obj

    def prepare_create(self, obj: T, context: Context) -> T:
        """Reset what a creator may not set; by default the status of kinds with a status subresource."""
        if self.status_subresource:
            return structs.replace(obj, status=type(obj)().status)
        return obj

    def prepare_update(self, new: T, old: T, context: Context) -> T:
        """Reset what this writer may not change. Called for subresources too (``context.subresource``).

        Metadata the server owns (name, uid, timestamps, generation) is kept by the generic stage.
        """
        if context.subresource == "status" and self.status_keeps_metadata:
            metadata = structs.replace(old.metadata, managed_fields=new.metadata.managed_fields)
            return structs.replace(old, metadata=metadata, status=new.status)
        if context.subresource == "status":
            metadata = structs.replace(
                old.metadata,
                managed_fields=new.metadata.managed_fields,
                labels=new.metadata.labels,
                annotations=new.metadata.annotations,
                finalizers=new.metadata.finalizers,
            )
            return structs.replace(old, metadata=metadata, status=new.status)
        if self.status_subresource:
            return structs.replace(new, status=old.status)
        return new

    def validate(self, obj: T, context: Context) -> list[FieldError]:
        """Return the errors in an object to be created. The generic stage checks the metadata."""
        return []

    def validate_update(self, new: T, old: T, context: Context) -> list[FieldError]:
        """Return the errors in a change. By default the rules of creation apply to the new object."""
        return self.validate(new, context)

    def intent(self, obj: T) -> Any:
        """Return the part of an object whose changes ``metadata.generation`` counts."""
        return getattr(obj, "spec", None)

    def warnings(self, obj: T, old: T | None, context: Context) -> list[str]:
        """Return the texts of the response's ``Warning`` headers; not called for writes to ``/status``."""
        return []

    def status_warnings(self, obj: T) -> list[str]:
        """Return the texts of ``Warning`` headers for writes to ``/status``."""
        return []

    def warnings_on_delete(self, options: DeleteOptions) -> list[str]:
        """Return the texts of ``Warning`` headers for a deletion."""
        return []

    def grace_for(self, obj: T, requested: int | None) -> int:
        """Return the seconds of graceful deletion; 0 removes the object at once."""
        return 0

    def has_other_finalizers(self, obj: T) -> bool:
        """Return whether more than ``metadata.finalizers`` keeps a deleted object (``spec.finalizers``)."""
        return False

    def mark_deleted(self, obj: T) -> T:
        """Return ``obj`` with the kind's changes for a first deletion request (a namespace's phase)."""
        return obj

    def selectable_fields(self, obj: T) -> dict[str, str]:
        """Return field selectors and their values, beyond ``metadata.name`` and ``metadata.namespace``."""
        return {}

    def index_value(self, obj: T) -> str:
        """Return the value of ``watch_index``, which is read at every change of every object."""
        return self.selectable_fields(obj).get(self.watch_index, "")

    watch_index: str = ""
    """A selectable field with a different value in each of very many watches (``spec.nodeName``)."""

    field_labels: tuple[str, ...] = ()
    """The names that ``selectable_fields`` returns; any other field selector is an error."""

    def name_errors(self, name: str) -> list[str]:
        """Return the errors in a name; by default it must be a DNS subdomain."""
        return dns_subdomain_errors(name)

    columns: Sequence[Column] = ()
    """All table columns of the kind, ``Name`` and ``Age`` included; empty means just those two."""

    def row(self, obj: T, now: datetime) -> Sequence[Any]:
        """Return the cells for ``columns``, in the same order."""
        return ()

    def row_order(self, obj: T) -> Any:
        """Return the sort key of a table row; None keeps the order of the list."""
        return None

    def row_conditions(self, obj: T) -> Sequence[RowCondition]:
        """Return the conditions of a table row: a finished pod's row is ``Completed``."""
        return ()
