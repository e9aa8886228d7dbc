"""A definition made ready: the resources of its versions, their schemas and rules. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.customresources.completion import RootSchema
from podling.apiserver.customresources.rules import CustomRules, ServedVersion, schema_of_version
from podling.apiserver.customresources.versions import priority
from podling.machinery.encoding.custom import CustomResource, is_established, version_resource


@dataclass(frozen=True, eq=False)
class Served:
    """One definition: a resource and its rules for each of its versions."""

    definition: CustomResourceDefinition
    schemas: Mapping[str, RootSchema]
    """The schemas of every version, served or not."""
    resources: tuple[CustomResource, ...] = ()
    """The served versions, the preferred one first; empty until the definition is established."""
    rules: dict[str, CustomRules] = field(default_factory=dict)
    """The rules of every version, served or not."""


def serve(definition: CustomResourceDefinition, before: Served | None = None) -> Served:
    """Return a definition made ready. Pure.

    ``before``: the same definition earlier; with the same versions it keeps its schemas, so that objects need
    not be read again, and the rules in them: each write of a definition's status comes here.
    """
    versions = definition.spec.versions
    known = before.schemas if before is not None and before.definition.spec.versions == versions else {}
    schemas = known or {version.name: schema_of_version(version) for version in versions}
    made = {version.name: ServedVersion(definition, version, schemas[version.name]) for version in versions}
    cel = {name: rules.cel for name, rules in before.rules.items()} if before is not None and known else {}
    rules = {name: CustomRules(each, cel.get(name)) for name, each in made.items()}
    if not is_established(definition):
        return Served(definition, schemas, rules=rules)
    stored = next(version for version in versions if version.storage)
    storage = None
    if len(versions) > 1 or definition.status.stored_versions != (stored.name,):
        storage = version_resource(definition, stored, schemas[stored.name], schemas=schemas)
    resources = [
        version_resource(definition, version, schemas[version.name], storage, schemas)
        for version in sorted(versions, key=lambda each: priority(each.name))
        if version.served
    ]
    return Served(definition, schemas, tuple(resources), rules)
