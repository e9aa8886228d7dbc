"""Objects and resources of kinds that users define: known at run time, carried as plain data.

A built-in kind has a struct; a custom one has ``CustomObject``: its metadata decoded like any other, the
rest kept as plain data. Every custom resource has a subclass of its own, made from its
definition, so that all that goes by type (informers, clients, the codec) works for it unchanged. The types
belong to their creator and are registered nowhere.

``ObjectSchema`` describes the data; without one nothing is pruned or typed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from podling.api.apiextensions_v1 import CustomResourceDefinition, CustomResourceDefinitionVersion
from podling.api.meta_v1 import ListMeta, ObjectMeta
from podling.machinery.encoding.shapes import Kind, Shape, shape_of
from podling.machinery.resource import READ_WRITE, Resource, Subresource

HEAD = ("apiVersion", "kind", "metadata")
"""The fields of every object, with any schema."""


SHAPES_MAX = 256
"""Of so many custom types it is remembered how server-side apply sees them."""


class ObjectSchema(Protocol):
    """A schema, as the codec and server-side apply use it."""

    @property
    def shape(self) -> Shape: ...

    def unknown_fields(self, plain: dict[str, Any]) -> list[str]:
        """Return the paths of the fields that the schema does not have."""
        ...

    def pruned(self, content: dict[str, Any]) -> dict[str, Any]:
        """``content`` without the fields that the schema does not have and the nulls that it refuses."""
        ...

    def completed(self, content: dict[str, Any]) -> dict[str, Any]:
        """``content`` pruned, with the schema's defaults. Shares nothing with ``content``."""
        ...


NO_SCHEMAS: Mapping[str, ObjectSchema] = MappingProxyType({})


class CustomObject(Struct, frozen=True, kw_only=True, eq=False):
    """One object of a custom resource. ``content`` is everything beside its head; never changed."""

    group_version_kind: ClassVar[tuple[str, str, str]] = ("", "", "")
    custom_resource: ClassVar[CustomResource | None] = None

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=lambda: ObjectMeta())
    content: dict[str, Any] = msgspec.field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """Types change with their definitions; what is compared is what the objects say."""
        if not isinstance(other, CustomObject):
            return NotImplemented
        mine = (self.api_version, self.kind, self.metadata, self.content)
        return mine == (other.api_version, other.kind, other.metadata, other.content)

    __hash__ = None  # type: ignore[assignment]

    def plain(self) -> dict[str, Any]:
        """The object as its JSON has it, but for the metadata, which stays a struct. Shares ``content``."""
        head = {"apiVersion": self.api_version, "kind": self.kind, "metadata": self.metadata}
        return {**head, **self.content}


C = TypeVar("C", bound=CustomObject)


def is_custom(type_: type[Any]) -> bool:
    return isinstance(type_, type) and issubclass(type_, CustomObject)


def from_plain(plain: Mapping[str, Any], metadata: ObjectMeta, type_: type[C]) -> C:
    """Return the object of plain data whose metadata has been read."""
    group, version, kind = type_.group_version_kind
    return type_(
        api_version=plain.get("apiVersion") or f"{group}/{version}",
        kind=plain.get("kind") or kind,
        metadata=metadata,
        content={name: value for name, value in plain.items() if name not in HEAD},
    )


@dataclass(frozen=True, eq=False)
class CustomResource(Resource):
    """One version of a resource that a definition added."""

    own_list_kind: str = ""
    selectable_fields: tuple[str, ...] = ()
    """Paths of fields that selectors may name: ``.spec.colour``."""
    schema: ObjectSchema | None = None
    schemas: Mapping[str, ObjectSchema] = field(default_factory=lambda: NO_SCHEMAS)
    """The schemas of all versions of the definition, by version: stored objects may be of any. All resources
    of one definition share this mapping, so its identity names the definition of a decoded object."""

    @cached_property
    def type(self) -> type[Any]:
        """The type of its objects; another one for every resource that is made."""
        return _object_type(self)

    @cached_property
    def list_type(self) -> Any:
        """The struct of a list of its objects, for clients that read one."""
        return msgspec.defstruct(
            self.list_kind,
            [
                ("api_version", str, self.group_version),
                ("items", tuple[dict[str, Any], ...], ()),
                ("kind", str, self.list_kind),
                ("metadata", ListMeta, msgspec.field(default_factory=ListMeta)),
            ],
            rename="camel",
            namespace={"list_of": self},
            frozen=True,
            kw_only=True,
        )

    @property
    def list_kind(self) -> str:
        return self.own_list_kind or super().list_kind


def _object_type(resource: CustomResource) -> type[Any]:
    return msgspec.defstruct(
        resource.kind,
        [("api_version", str, resource.group_version), ("kind", str, resource.kind)],
        bases=(CustomObject,),
        namespace={
            "group_version_kind": (resource.group, resource.version, resource.kind),
            "custom_resource": resource,
            "__hash__": None,
        },
        frozen=True,
        kw_only=True,
        eq=False,
    )


def version_resource(
    definition: CustomResourceDefinition,
    version: CustomResourceDefinitionVersion,
    schema: ObjectSchema | None = None,
    storage: Resource | None = None,
    schemas: Mapping[str, ObjectSchema] = NO_SCHEMAS,
) -> CustomResource:
    """One version of what ``definition`` adds, under the names that were accepted."""
    spec = definition.spec
    names = definition.status.accepted_names or spec.names
    return CustomResource(
        group=spec.group,
        version=version.name,
        plural=names.plural,
        singular=names.singular or names.kind.lower(),
        kind=names.kind,
        namespaced=spec.scope == "Namespaced",
        short_names=names.short_names,
        categories=names.categories,
        subresources=MappingProxyType(_subresources(spec.group, version, names.kind)),
        storage=storage,
        own_list_kind=names.list_kind or "",
        selectable_fields=tuple(each.json_path for each in version.selectable_fields),
        schema=schema,
        schemas=schemas,
    )


def _subresources(group: str, version: CustomResourceDefinitionVersion, kind: str) -> dict[str, Subresource]:
    asked, found = version.subresources, {}
    if asked is not None and asked.scale is not None:
        found["scale"] = Subresource("scale", "autoscaling", "v1", "Scale", READ_WRITE)
    if asked is not None and asked.status is not None:
        found["status"] = Subresource("status", group, version.name, kind, READ_WRITE)
    return found


def is_established(definition: CustomResourceDefinition) -> bool:
    return any(each.type == "Established" and each.status == "True" for each in definition.status.conditions)


def storage_version(definition: CustomResourceDefinition) -> CustomResourceDefinitionVersion:
    """The version that new objects are stored in. Raises LookupError for a definition that has none."""
    for version in definition.spec.versions:
        if version.storage:
            return version
    raise LookupError(f"{definition.metadata.name} has no storage version")


def stored_resource(definition: CustomResourceDefinition) -> CustomResource:
    """The resource as its objects are stored: what goes over all of them uses, without their schema."""
    return version_resource(definition, storage_version(definition))


def _deduced() -> Shape:
    shape = Shape(Kind.MAP)
    structs.force_setattr(shape, "element", shape)  # a map of such maps, or of anything that has no parts
    return shape


DEDUCED = _deduced()
"""Data of which no schema says anything: maps are merged, everything else is one value."""


def _custom_shape(type_: type[Any]) -> Shape:
    resource = cast("CustomResource", type_.custom_resource)
    fields: dict[str, Shape] = {}
    rest: Shape | None = DEDUCED
    if resource.schema is not None:
        own = resource.schema.shape
        fields, rest = (
            dict(own.fields or {}),
            own.rest or own.element,
        )  # of a map: a schema without properties
    head = {"apiVersion": Shape(Kind.STRING), "kind": Shape(Kind.STRING), "metadata": shape_of(ObjectMeta)}
    return Shape(Kind.STRUCT, struct=type_, fields={**fields, **head}, rest=rest)


custom_shape = cast("Callable[[type[Any]], Shape]", lru_cache(SHAPES_MAX)(_custom_shape))


def object_shape(type_: type[Any]) -> Shape:
    """Return the shape of the objects of a kind, built in or custom."""
    return custom_shape(type_) if is_custom(type_) else shape_of(type_)


"""A custom type as server-side apply sees it: its schema's fields beside the head."""
