"""What a kind adds to the generic stages of a request: its strategy.

The generic stages (``apiserver/registry/registry.py``) do what every kind needs: names, metadata, revisions,
finalizers, deletion. A kind with rules of its own subclasses ``KindRules`` in its own file and
overrides only what differs. Everything here is pure: objects in, objects or errors out.

Upstream counterpart: the ``strategy.go`` files under ``pkg/registry`` with ``pkg/apis/*/validation``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
    """What a rule may know of the request beside the objects.

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


@dataclass(frozen=True, slots=True)
class View:
    """A subresource that shows a part of its object as another kind, to read and to write: ``scale``."""

    body: type[Any]
    show: Callable[[Any], Any]
    """From the object to the view's body. Metadata of the body is the rule's to fill."""
    put: Callable[[Any, Any, Context], Any]
    """From (object, new body) to the changed object, which then passes the kind's own update rules."""
    validate: Callable[[Any], list[FieldError]] = lambda body: []
    """What is wrong with a body that is put."""
    nothing_to_show: Callable[[Any], str] = lambda obj: ""
    """Why the object cannot be read through this view, if it cannot (500)."""
    replicas_path: tuple[str, ...] = ("spec", "replicas")
    """Where the object keeps the body's ``spec.replicas``: whoever applies that to the view owns this."""
    table: KindRules[Any] | None = None
    """How a table shows the body; None for its name and age."""


@dataclass(frozen=True, slots=True)
class Action:
    """A subresource that is only created, and thereby changes its object: ``pods/binding``."""

    body: type[Any]
    act: Callable[[Any, Any, Context], Any]
    """From (object, body) to the changed object; raises ``ApiError`` to refuse. The changed object is
    stored as it is: the action is the authority on what it may change."""
    validate: Callable[[Any], list[FieldError]] = lambda body: []


Subresource = View | Action
"""What a kind may serve below its objects. Subresources that exchange the object itself (``status``,
``resize``, ``ephemeralcontainers``, ``finalize``) need no entry: they are updates with
``Context.subresource`` set. Those that need more than one object (``eviction``, ``token``) or a
connection (``log``, ``exec``) are the server's own."""


class KindRules(Generic[T]):
    """The defaults: no semantic defaults, nothing to validate, status reset on create and update."""

    status_subresource: bool = False
    """Whether ``/status`` exists: then writes to the main resource keep the stored status, and writes
    to ``/status`` keep everything else (but metadata that a status writer may set)."""

    status_alone: bool = False
    """Whether a write to ``/status`` keeps the metadata, too."""

    generation: bool = False
    """Whether ``metadata.generation`` starts at 1 and rises with every change of ``spec``."""

    grace_seconds: int = 0
    """The default of graceful deletion; 0 means objects go at once (pods override ``grace_for``)."""

    unconditional_update: bool = True
    """Whether an update without a ``resourceVersion`` overwrites whatever is stored."""

    bare_finalizers: bool = False
    """Whether finalizers may be names without a domain: kinds that came after the built-in ones."""

    create_on_update: bool = False
    """Whether a PUT to a name that does not exist creates it (leases, endpoints, roles ...)."""

    returns_deleted: bool = False
    """Whether a deletion at once answers with the object instead of a ``Status``."""

    orphans_dependents: bool = False
    """Whether a deletion that names no propagation policy leaves the dependents behind, as the oldest kinds
    do; all others take them along in the background."""

    subresources: Mapping[str, Subresource] = MappingProxyType({})
    """The subresources with a body of their own, by name."""

    deprecation: str = ""
    """What every client that asks for the kind is warned of."""

    def default(self, obj: T) -> T:
        """Fill in the kind's semantic defaults, as ``zz_generated.defaults.go`` does on decoding."""
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
        if context.subresource == "status" and self.status_alone:
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
        """What is wrong with an object to be created. Metadata is checked by the generic stage."""
        return []

    def validate_update(self, new: T, old: T, context: Context) -> list[FieldError]:
        """What is wrong with a change. The default holds the new object to the rules of a new one."""
        return self.validate(new, context)

    def intent(self, obj: T) -> Any:
        """The part of an object whose changes ``metadata.generation`` counts."""
        return getattr(obj, "spec", None)

    def warnings(self, obj: T, old: T | None, context: Context) -> list[str]:
        """Texts for the response's ``Warning`` headers; not asked for writes to ``/status``."""
        return []

    def status_warnings(self, obj: T) -> list[str]:
        """The same for writes to ``/status``."""
        return []

    def warnings_on_delete(self, options: DeleteOptions) -> list[str]:
        """Texts for the ``Warning`` headers of a deletion."""
        return []

    def grace_for(self, obj: T, requested: int | None) -> int:
        """Seconds between the request to delete and the end; 0 removes the object at once."""
        return 0

    def held(self, obj: T) -> bool:
        """Whether something beside ``metadata.finalizers`` keeps a deleted object (``spec.finalizers`` of
        namespaces)."""
        return False

    def mark_deleted(self, obj: T) -> T:
        """What else changes when an object is first marked as being deleted (a namespace's phase)."""
        return obj

    def selectable_fields(self, obj: T) -> dict[str, str]:
        """Field selectors beyond ``metadata.name`` and ``metadata.namespace``, with their values."""
        return {}

    watch_index: str = ""
    """A selectable field that very many watches select by, each another value (``spec.nodeName``)."""

    field_labels: tuple[str, ...] = ()
    """The names that ``selectable_fields`` gives; any other selector is refused."""

    def name_errors(self, name: str) -> list[str]:
        """What is wrong with a name; by default it must be a DNS subdomain."""
        return dns_subdomain_errors(name)

    columns: Sequence[Column] = ()
    """All table columns of the kind, ``Name`` and ``Age`` included; empty means just those two."""

    def row(self, obj: T, now: datetime) -> Sequence[Any]:
        """The cells of ``columns``, in the same order."""
        return ()

    def row_order(self, obj: T) -> Any:
        """What the rows of a table are sorted by; None: they stay in the order of the list."""
        return None

    def row_conditions(self, obj: T) -> Sequence[RowCondition]:
        """Marks on a table row: a finished pod's row is ``Completed``."""
        return ()
