"""Write ``src/podling/api`` from the official Kubernetes schema.

The schema comes from the development dependency ``kubernetes-validate``, which packages every
definition of a release with its group-version-kinds, patch merge keys and list-map keys. One
module is written per API group and version, holding one frozen ``msgspec.Struct`` per
definition, and one JSON file with the descriptions that OpenAPI and ``kubectl explain`` show.

    python tools/gen_api.py            write the modules
    python tools/gen_api.py --check    exit 1 if what is on disk differs (continuous integration)

Rules of the translation:

* Go's types decide how a field is held and when it is written; ``go_types.json`` has these facts, written by
  ``tools/gen_go_types.py``. A pointer is ``None`` while it is absent. A field that Go holds by value is never
  ``None``: it is zero (``""``, ``0``, ``False``, ``()``, ``{}``, an empty struct).
* A field with ``omitempty`` is left out while it is zero or ``None``: ``false`` of a client is dropped where
  Go holds the field by value, and kept behind a pointer. A field without it is always written, with null for
  pointers, for the zero time, and for empty lists. Structs by value are always written.
* Validation reports a missing required field, in Kubernetes' words.
* ``FieldsV1`` is the JSON itself, as in Go: it can be as large as the object, and few look into it.
* Class variables keep the schema's required fields, atomic structs, and structs that hold times with
  microseconds: no other place has them.
* No semantic default is ever written here: those are a separate pass per kind.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

RELEASE = "v1.36.0"
TARGET = Path(__file__).resolve().parent.parent / "src" / "podling" / "api"

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("Annotated[str, QUANTITY]", "QUANTITY"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("int | str", ""),
    f"{META}.Time": ("datetime", "datetime"),
    f"{META}.MicroTime": ("Annotated[datetime, MICRO_TIME]", "MICRO_TIME"),
    f"{META}.FieldsV1": ("Raw", "Raw"),
    f"{META}.Patch": ("dict[str, Any]", "Any"),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ("Any", "Any"),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": ("Any", "Any"),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": ("Any", "Any"),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": ("Any", "Any"),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": ("Any", "Any"),
}
"""Definitions that become a plain Python type: the annotation and the name it needs imported."""

TIMES = ("datetime", "Annotated[datetime, MICRO_TIME]")

ZEROS = {"str": "''", "int": "0", "bool": "False", "float": "0.0"}

PYTHON_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

ACRONYM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
PLURAL_ACRONYM = re.compile(r"([A-Z]{2,})s(?=$|[A-Z])")

TAKEN = {"bool", "datetime", "dict", "field", "float", "int", "str", "tuple"}
"""Names that annotations in the same class body need."""

GO_TYPES = Path(__file__).resolve().parent / "go_types.json"

NEVER_NULL = {
    "APIGroup": ("versions",),
    "APIResource": ("verbs",),
    "APIVersions": ("serverAddressByClientCIDRs", "versions"),
    "CephFSPersistentVolumeSource": ("monitors",),
    "CephFSVolumeSource": ("monitors",),
    "CustomResourceDefinitionSpec": ("versions",),
    "CustomResourceDefinitionStatus": ("storedVersions",),
    "Endpoint": ("addresses",),
    "HTTPIngressRuleValue": ("paths",),
    "MutatingWebhook": ("admissionReviewVersions",),
    "NodeSelector": ("nodeSelectorTerms",),
    "NonResourcePolicyRule": ("nonResourceURLs", "verbs"),
    "NonResourceRule": ("verbs",),
    "PodFailurePolicyOnExitCodesRequirement": ("values",),
    "PodSpec": ("containers",),
    "PolicyRule": ("verbs",),
    "PolicyRulesWithSubjects": ("subjects",),
    "RBDPersistentVolumeSource": ("monitors",),
    "RBDVolumeSource": ("monitors",),
    "ResourcePolicyRule": ("apiGroups", "resources", "verbs"),
    "ResourceRule": ("verbs",),
    "SubjectRulesReviewStatus": ("nonResourceRules", "resourceRules"),
    "SuccessPolicy": ("rules",),
    "TokenRequestSpec": ("audiences",),
    "TopologySelectorLabelRequirement": ("values",),
    "ValidatingWebhook": ("admissionReviewVersions",),
    "WebhookConversion": ("conversionReviewVersions",),
}
"""Lists without omitempty that are never written as null: validation refuses an empty one, defaulting fills
it, or the API server makes it. So are the ``items`` of lists."""


def load_go_types() -> dict[str, dict[str, dict[str, str]]]:
    """Return how Go holds every field, as ``tools/gen_go_types.py`` wrote it."""
    document: dict[str, Any] = json.loads(GO_TYPES.read_text())
    modules: dict[str, dict[str, dict[str, str]]] = document["modules"]
    return modules


def load_schema() -> dict[str, Any]:
    """Return every definition of the release, by its full dotted name."""
    folder = resources.files("kubernetes_validate") / "kubernetes-json-schema" / f"{RELEASE}-local"
    document: dict[str, Any] = json.loads((folder / "_definitions.json").read_text())
    definitions: dict[str, Any] = document["$defs"]
    return definitions


def snake(name: str) -> str:
    """``podIPs`` -> ``pod_ips``, ``$ref`` -> ``ref``; a name that Python needs gets a trailing underscore."""
    word = re.sub(r"\W+", "_", name).strip("_")
    word = PLURAL_ACRONYM.sub(lambda match: match.group(1).capitalize() + "s", word)
    parts = [part for part in ACRONYM.split(word) if part]
    joined = "_".join(parts).lower()
    return joined + "_" if keyword.iskeyword(joined) or joined in TAKEN else joined


def camel(name: str) -> str:
    """Return the JSON name that msgspec's ``rename="camel"`` makes of a Python field name."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def module_of(definition: str) -> str:
    """Return the module that holds a definition: ``io.k8s.api.core.v1.Pod`` -> ``core_v1``."""
    *_, group, version, _name = definition.split(".")
    group = {"runtime": "meta", "pkg": "meta"}.get(group, group)
    return "meta_v1" if definition.startswith("io.k8s.apimachinery") else f"{group}_{version}"


@dataclass
class Field:
    """One struct field, ready to be written."""

    json_name: str
    annotation: str
    default: str

    def line(self) -> str:
        name = snake(self.json_name)
        options = []
        if camel(name) != self.json_name:
            options.append(f"name={self.json_name!r}")
        if self.default.startswith("factory:"):
            options.insert(0, f"default_factory={self.default[8:]}")
        elif options:
            options.insert(0, f"default={self.default}")
        value = f"field({', '.join(options)})" if options else self.default
        return f"    {name}: {self.annotation} = {value}"


def struct_name(annotation: str) -> str:
    """Return the struct in an annotation: itself, or the first argument of ``Annotated``."""
    return annotation.removeprefix("Annotated[").partition(",")[0]


class ModuleWriter:
    """Collects the structs of one group and version and writes its module."""

    def __init__(self, name: str, micro: set[str]) -> None:
        self.name = name
        self.micro = micro
        self.imports: dict[str, set[str]] = {}
        self.structs: list[str] = []

    def use(self, module: str, name: str) -> None:
        self.imports.setdefault(module, set()).add(name)

    def add(self, definition: str, schema: dict[str, Any], go: dict[str, str]) -> None:
        name = definition.rpartition(".")[2]
        kinds = schema.get("x-kubernetes-group-version-kind") or []
        kind = kinds[0] if len(kinds) == 1 else None
        required = set(schema.get("required") or ())
        fields = [
            self.field(name, json_name, spec, go[json_name], kind, json_name in required)
            for json_name, spec in sorted((schema.get("properties") or {}).items())
        ]
        lines = [
            f'class {name}(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):'
        ]
        if kind:
            self.use("typing", "ClassVar")
            triple = (kind["group"], kind["version"], kind["kind"])
            lines.append(f"    group_version_kind: ClassVar[tuple[str, str, str]] = {triple!r}")
        lines += [field.line() for field in fields]
        if schema.get("x-kubernetes-map-type") == "atomic":
            self.use("typing", "ClassVar")
            lines.insert(1, "    atomic_struct: ClassVar[bool] = True")
        if definition in self.micro:
            self.use("typing", "ClassVar")
            lines.insert(1, "    micro_times: ClassVar[bool] = True")
        if schema.get("required"):
            self.use("typing", "ClassVar")
            names = tuple(sorted(schema["required"]))
            lines.insert(1, f"    required_fields: ClassVar[tuple[str, ...]] = {names!r}")
        nullable = [snake(field.json_name) for field in fields if field.default == "factory:nil_list"]
        if nullable:
            self.use("podling.api._zero", "empty_as_null")
            lines += ["", "    def __post_init__(self) -> None:"]
            for each in nullable:
                lines += [f"        if not self.{each}:", f"            empty_as_null(self, {each!r})"]
        if len(lines) == 1:
            lines.append("    pass")
        self.structs.append("\n".join(lines))

    def field(
        self, struct: str, json_name: str, spec: dict[str, Any], go: str, kind: Any, required: bool
    ) -> Field:
        if kind and json_name in ("apiVersion", "kind"):
            group_version = f"{kind['group']}/{kind['version']}".lstrip("/")
            value = group_version if json_name == "apiVersion" else kind["kind"]
            return Field(json_name, "str", f"factory:lambda: {value!r}")
        annotation, shape = self.annotation(spec)
        go_kind, *options = go.split(",")
        if annotation == "Raw":
            return Field(json_name, annotation, "Raw()")
        if shape in ("list", "map"):
            never_null = json_name == "items" or json_name in NEVER_NULL.get(struct, ())
            return self.collection(json_name, annotation, shape, "e" in options, never_null)
        if go_kind == "pointer" and not (required and shape == "struct"):
            nothing = "None" if "e" in options else "factory:NoneType"
            return Field(json_name, annotation if annotation == "Any" else f"{annotation} | None", nothing)
        if shape == "struct":
            return Field(json_name, annotation, f"factory:lambda: {struct_name(annotation)}()")
        if annotation in TIMES:
            return Field(json_name, f"{annotation} | None", "None" if "z" in options else "factory:NoneType")
        if annotation == "Any":
            return Field(json_name, annotation, "factory:NoneType" if go_kind == "struct" else "None")
        if annotation == "Annotated[str, QUANTITY]":
            return Field(json_name, annotation, "factory:lambda: '0'")
        zero = {"str": "str", "bool": "bool", "float": "float", "Annotated[str, BYTES]": "str"}.get(
            annotation, "int"
        )
        omitted = "e" in options and go_kind != "struct"
        return Field(json_name, annotation, ZEROS[zero] if omitted else f"factory:{zero}")

    def collection(
        self, json_name: str, annotation: str, shape: str, omitted: bool, never_null: bool
    ) -> Field:
        """Return a list or a map. A list that Go does not omit is null where it holds nothing."""
        if omitted:
            return Field(json_name, annotation, "()" if shape == "list" else "factory:dict")
        if never_null or shape == "map":
            return Field(json_name, annotation, f"factory:empty_{shape}")
        self.use("podling.api._zero", "Nullable")
        return Field(json_name, f"Nullable[{annotation}]", "factory:nil_list")

    def annotation(self, spec: dict[str, Any]) -> tuple[str, str]:
        """Return the Python annotation of a field's schema, and its shape: scalar, struct, list, map."""
        marks: list[str] = []
        if "$ref" in spec:
            annotation, shape = self.reference(spec["$ref"].rpartition("/")[2])
        else:
            annotation, shape = self.inline(spec)
        strategy = spec.get("x-kubernetes-patch-strategy", "")
        if "merge" in strategy.split(","):
            marks.append(f"MergeKey({spec.get('x-kubernetes-patch-merge-key', '')!r})")
        if "retainKeys" in strategy.split(","):
            marks.append("RETAIN_KEYS")
        if spec.get("x-kubernetes-list-type") == "map":
            marks.append(f"ListMap({', '.join(map(repr, spec['x-kubernetes-list-map-keys']))})")
        if spec.get("x-kubernetes-list-type") == "set":
            marks.append("LIST_SET")
        if spec.get("x-kubernetes-map-type"):
            marks.append({"atomic": "ATOMIC_MAP", "granular": "GRANULAR_MAP"}[spec["x-kubernetes-map-type"]])
        if not marks:
            return annotation, shape
        for mark in marks:
            self.use("podling.api.markers", mark.partition("(")[0])
        self.use("typing", "Annotated")
        return f"Annotated[{annotation}, {', '.join(marks)}]", shape

    def reference(self, definition: str) -> tuple[str, str]:
        if definition in SCALARS:
            annotation, needs = SCALARS[definition]
            if needs in ("QUANTITY", "MICRO_TIME"):
                self.use("podling.api.markers", needs)
                self.use("typing", "Annotated")
            if "datetime" in annotation:
                self.use("datetime", "datetime")
            if needs == "Any":
                self.use("typing", "Any")
            if needs == "Raw":
                self.use("msgspec", "Raw")
            return annotation, "map" if annotation.startswith("dict") else "scalar"
        module, name = module_of(definition), definition.rpartition(".")[2]
        if module != self.name:
            self.use(f"podling.api.{module}", name)
        return name, "struct"

    def inline(self, spec: dict[str, Any]) -> tuple[str, str]:
        kinds = spec.get("type")
        kind = kinds[0] if isinstance(kinds, list) else kinds
        if kind == "array":
            item, _ = self.annotation(spec["items"])
            return f"tuple[{item}, ...]", "list"
        if kind == "object":
            value = "Any"
            if "additionalProperties" in spec:
                value, _ = self.annotation(spec["additionalProperties"])
                value += " | None" * (value in TIMES)
            if value == "Any":
                self.use("typing", "Any")
            return f"dict[str, {value}]", "map"
        if kind == "integer" and spec.get("format") == "int32":
            self.use("podling.api.markers", "INT32")
            self.use("typing", "Annotated")
            return "Annotated[int, INT32]", "int32"
        if kind == "string" and spec.get("format") == "byte":
            self.use("podling.api.markers", "BYTES")
            self.use("typing", "Annotated")
            return "Annotated[str, BYTES]", "scalar"
        return PYTHON_TYPES[str(kind)], "scalar"

    def render(self) -> str:
        group, _, version = self.name.partition("_")
        body = "\n\n\n".join(self.structs)
        if "=NoneType" in body:
            self.use("types", "NoneType")
        helpers = [name for name in ("empty_list", "empty_map", "nil_list") if f"={name}" in body]
        for name in helpers:
            self.use("podling.api._zero", name)
        self.use("msgspec", "Struct")
        if "= field(" in body:
            self.use("msgspec", "field")
        standard = {"datetime", "types", "typing"}
        lines = [
            f'"""Kubernetes {RELEASE[:-2]} types of {group}/{version}. '
            'Written by tools/gen_api.py: do not edit."""',
            "",
            "from __future__ import annotations",
            "",
        ]
        for wanted in (lambda m: m in standard, lambda m: m == "msgspec", lambda m: m.startswith("podling")):
            modules = sorted(module for module in self.imports if wanted(module))
            lines += [f"from {module} import {', '.join(sorted(self.imports[module]))}" for module in modules]
            if modules:
                lines.append("")
        return "\n".join(lines) + "\n\n" + body + "\n"


def references(schema: Any) -> set[str]:
    """Return every definition that a schema refers to, at any depth."""
    if isinstance(schema, list):
        return set().union(*map(references, schema))
    if not isinstance(schema, dict):
        return set()
    found = set().union(*map(references, schema.values()))
    return found | {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else found


def holding(wanted: str, schema: dict[str, Any]) -> set[str]:
    """Return the definitions that hold ``wanted``, directly or through others."""
    pointing = {definition: references(body) for definition, body in schema.items()}
    found = {wanted}
    while more := {name for name, targets in pointing.items() if name not in found and targets & found}:
        found |= more
    return found


def build() -> dict[str, str]:
    """Return the content of every file that this tool writes, by its name."""
    schema, go = load_schema(), load_go_types()
    micro = holding(f"{META}.MicroTime", schema)
    writers: dict[str, ModuleWriter] = {}
    descriptions: dict[str, dict[str, Any]] = {}
    for definition in sorted(schema):
        if definition in SCALARS:
            continue
        module = module_of(definition)
        facts = go[module][definition.rpartition(".")[2]]
        writers.setdefault(module, ModuleWriter(module, micro)).add(definition, schema[definition], facts)
        descriptions[definition] = describe(schema[definition])
    files = {f"{name}.py": writer.render() for name, writer in writers.items()}
    files["descriptions.json"] = json.dumps(descriptions, indent=0, sort_keys=True, ensure_ascii=False) + "\n"
    return files


def describe(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the texts of one definition: its own under ``""``, then one per field."""
    texts = {"": schema.get("description", "")}
    for name, spec in (schema.get("properties") or {}).items():
        texts[name] = spec.get("description", "")
    return {name: text for name, text in texts.items() if text}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    check: bool = parser.parse_args().check
    stale = []
    for name, content in build().items():
        path = TARGET / name
        if path.exists() and path.read_text() == content:
            continue
        stale.append(name)
        if not check:
            path.write_text(content)
    if stale and check:
        print("out of date, run tools/gen_api.py:", ", ".join(sorted(stale)), file=sys.stderr)
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
