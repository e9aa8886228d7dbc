"""The stages of a write that need its data only: before admission, and between admission and the store.

A write is drafted (body or patch, defaults, ``managedFields``), admitted, and settled (preparation by the
kind, validation). Small writes are computed where they arrive; large ones by the same functions in a worker
process. Pure: warnings are appended to the request's own list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, structs

from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.kinds.common import metadata
from podling.apiserver.kinds.common.base import Context, KindRules, View
from podling.apiserver.kinds.common.views import shown_form, stored_form
from podling.apiserver.registry.managed_fields import differs_only_in_times, with_managed_fields
from podling.apiserver.registry.patching import (
    applied_to_view,
    apply_patch,
    check_named,
    check_place,
    patched,
)
from podling.client.requests import Patch, Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.fields import FieldError, Path, bounded, invalid
from podling.machinery.scheme import Resource, type_of


class WriteRequest(Struct, frozen=True):
    """Properties of the write in progress, passed down as one argument."""

    target: Target
    user: User
    options: WriteOptions
    rules: KindRules[Any]
    view: View | None = None
    """The form of the object that admission sees, if it is not the object itself (``scale``)."""

    @property
    def resource(self) -> Resource:
        return self.target.resource

    def context(self, now: datetime) -> Context:
        """Return the data of a change for the rules of the kind."""
        return Context(now, self.user.name, self.target.subresource, self.options.dry_run)

    def context_of_creation(self, now: datetime) -> Context:
        """Return the data of a creation for the rules of the kind."""
        user = self.user
        return Context(
            now,
            user.name,
            dry_run=self.options.dry_run,
            groups=user.groups,
            uid=user.uid,
            extra=user.extra,
        )


def body_type(target: Target) -> type[Any]:
    """Return the kind that a create or update of ``target`` takes."""
    if not target.subresource:
        return target.resource.type
    part = target.resource.subresources[target.subresource]
    if isinstance(target.resource, CustomResource) and part.kind == target.resource.kind:
        return target.resource.type
    return type_of(part.group, part.version, part.kind)


def draft_creation(write: WriteRequest, source: Any, now: datetime) -> Any:
    """Return the object to create, as admission sees it.

    ``source``: the object, or the patch that applies it.
    """
    options, target = write.options, write.target
    if isinstance(source, Patch):
        source = metadata.without_resource_version(patched(None, source, target, options, now))
    body = stored_form(write.resource, source)
    obj = write.rules.default(metadata.in_namespace(body, target.namespace))
    obj = metadata.without_duplicate_owners(obj, options.warnings)
    # Fields that admission sets have no manager.
    return with_managed_fields(None, obj, target, (options, write.user), now)


def settle_creation(
    write: WriteRequest, obj: Any, now: datetime, *, name: str, uid: str, checked: bool = False
) -> Any:
    """Return the object to store for the admitted ``obj``. Raises 422.

    ``checked``: it was found valid under another generated name.
    """
    rules, resource, context = write.rules, write.resource, write.context_of_creation(now)
    new = metadata.set_server_metadata(obj, name=name, uid=uid, generation=rules.generation, now=now)
    new = rules.prepare_create(new, context)
    if not checked:
        refuse(resource, new, bounded(_wrong_with_new, resource, rules, new, context))
        write.options.warnings.extend(rules.warnings(new, None, context))
    return new


def name_of_new(obj: Any, rules: KindRules[Any], suffix: Callable[[], str], uuid: Callable[[], str]) -> str:
    """Return the name of a new object: its own, a generated one, or none."""
    given = obj.metadata
    if given.name:
        return str(given.name)
    if given.generate_name:
        return metadata.generated_name(given.generate_name, suffix())
    return uuid() if rules.uuid_as_name else ""


def update_body(write: WriteRequest, body: Any) -> Any:
    """Return the body of an update in the stored form. Raises 400 for one with another name or namespace."""
    target = write.target
    check_place(body.metadata.name, body.metadata.namespace, target)
    body = metadata.in_namespace(stored_form(target.resource, body), target.namespace)
    return body if write.view is not None else metadata.without_duplicate_owners(body, write.options.warnings)


def draft_change(write: WriteRequest, source: Any, old: Any, now: datetime) -> Any:
    """Return the changed object, as admission sees it. ``source``: ``update_body``, or a patch."""
    wanted = _wanted(write, source, old, now)
    _check_revision(write, wanted, old)
    writer = (write.options, write.user)
    return with_managed_fields(old, write.rules.default(wanted), write.target, writer, now)


def settle_change(write: WriteRequest, obj: Any, old: Any, now: datetime) -> Any:
    """Return the object to store for the admitted ``obj``; ``old`` itself if nothing changes. Raises 422."""
    rules, context = write.rules, write.context(now)
    obj = metadata.without_duplicate_owners(obj, write.options.warnings, admitted=True)
    new = rules.prepare_update(metadata.keep_server_metadata(obj, old), old, context)
    if rules.generation and context.subresource != "status":
        changed = rules.intent(new) != rules.intent(old)
        new = metadata.raise_generation(new, old, changed=changed)
    same = new == old or differs_only_in_times(new, old)
    if not same:
        refuse(write.resource, new, bounded(_wrong_with_change, rules, new, old, context))
    if context.subresource == "status":
        found = rules.status_warnings(new)
    else:
        found = rules.warnings(new, old, context)
    write.options.warnings.extend(found)
    return old if same else new


def _wanted(write: WriteRequest, source: Any, old: Any, now: datetime) -> Any:
    """Return what the request makes of the stored object."""
    target, options, view, resource = write.target, write.options, write.view, write.resource
    if not isinstance(source, Patch):
        if view is not None:
            return _through_view(write, view, lambda _shown: source, old, now)
        check_uid(target, source.metadata.uid, old.metadata.uid)
        return source
    if view is not None and not options.apply:
        scale = view.body
        return _through_view(write, view, lambda shown: apply_patch(shown, source, scale, options), old, now)
    if view is not None:
        source = applied_to_view(source, view, resource, now)
    wanted = patched(shown_form(resource, old), source, target, options, now)
    wanted = metadata.in_namespace(wanted, target.namespace)
    check_named(wanted.metadata.name, target)
    check_place(wanted.metadata.name, None, target)
    return stored_form(resource, wanted)


def _through_view(
    write: WriteRequest, view: View, make: Callable[[Any], Any], old: Any, now: datetime
) -> Any:
    """Return the object after a change of a view of it. ``make``: from the view to the wanted one."""
    target = write.target
    body = make(view.show(old))
    found = view.validate(body)
    if found:
        _, _, kind = type(body).group_version_kind
        group = target.resource.subresources[target.subresource].group
        raise errors.invalid(kind, group, target.name, found)
    _check_same(target, body.metadata, old.metadata)
    changed = view.put(old, body, Context(now, write.user.name, target.subresource))
    return structs.replace(
        changed,
        metadata=structs.replace(changed.metadata, resource_version=body.metadata.resource_version),
    )


def _check_revision(write: WriteRequest, wanted: Any, old: Any) -> None:
    """409 when the writer means another revision; 422 when it has to name one and does not."""
    resource, given = write.resource, wanted.metadata.resource_version
    if given and given != old.metadata.resource_version:
        raise errors.conflict(resource.plural, resource.group, write.target.name)
    if not given and not write.rules.unconditional_update:
        found = invalid(Path("metadata.resourceVersion"), 0, "must be specified for an update")
        # The one error of this kind that names the resource, as Kubernetes does.
        raise errors.invalid(resource.plural, resource.group, write.target.name, [found])


def check_uid(target: Target, given: str | None, found: str | None) -> None:
    """409 when an update means another object than the one that is there; None: there is none."""
    if given and given != found:
        resource = target.resource
        key = resource.key(target.namespace, target.name)
        raise errors.other_object(
            resource.plural, resource.group, target.name, key=key, asked=given, found=found or ""
        )


def _check_same(target: Target, given: ObjectMeta, stored: ObjectMeta) -> None:
    """409 if a view that is written means another object of the same name."""
    if given.uid and given.uid != stored.uid:
        resource = target.resource
        why = f"Precondition failed: UID in precondition: {given.uid}, UID in object meta: {stored.uid}"
        raise errors.conflict(f"{resource.plural}/{target.subresource}", resource.group, target.name, why)


def _wrong_with_new(
    resource: Resource, rules: KindRules[Any], new: Any, context: Context
) -> list[FieldError]:
    found = metadata.check_new(
        new.metadata,
        namespaced=resource.namespaced,
        name_errors=rules.name_errors,
        bare_finalizers=rules.bare_finalizers,
    )
    return found + rules.validate(new, context)


def _wrong_with_change(rules: KindRules[Any], new: Any, old: Any, context: Context) -> list[FieldError]:
    found = metadata.check_change(new.metadata, old.metadata, bare_finalizers=rules.bare_finalizers)
    return found + rules.validate_update(new, old, context)


def refuse(resource: Resource, obj: Any, found: Sequence[FieldError]) -> None:
    """422 if there are errors."""
    if found:
        name = obj.metadata.name or obj.metadata.generate_name or ""
        raise errors.invalid(resource.kind, resource.group, name, found)
