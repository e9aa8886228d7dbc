"""Write ``tools/go_types.json``: how Go holds and writes every field of the API's types.

``gen_api.py`` reads the file, so that the types of ``podling.api`` leave out and write what Kubernetes leaves
out and writes. OpenAPI does not say it: a field that OpenAPI does not require may be held by value.

    python -m tools.gen_go_types FOLDER            write the file
    python -m tools.gen_go_types FOLDER --check    exit 1 if the file on disk differs

``FOLDER`` holds checkouts as ``tools/go_source.py`` expects them. The file holds, for each module and struct,
one word per field: the kind of its Go type, then ``,e`` for omitempty and ``,z`` for omitzero.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tools import gen_api, go_source

TARGET = Path(__file__).resolve().parent / "go_types.json"

MACHINERY = "k8s.io/apimachinery/pkg/"
_PACKAGES = {
    "io.k8s.apimachinery.pkg.apis.meta.v1": f"{MACHINERY}apis/meta/v1",
    "io.k8s.apimachinery.pkg.runtime": f"{MACHINERY}runtime",
    "io.k8s.apimachinery.pkg.version": f"{MACHINERY}version",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": (
        "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
    ),
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1": (
        "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
    ),
}
"""The Go packages of definitions that are not in ``k8s.io/api``."""


def go_package(definition: str) -> str:
    """Return the Go package that holds a definition of the schema."""
    prefix = definition.rpartition(".")[0]
    return _PACKAGES.get(prefix) or "k8s.io/api/" + prefix.removeprefix("io.k8s.api.").replace(".", "/")


def word(field: go_source.GoField) -> str:
    """Return the facts of one field: ``string,e``."""
    return field.kind + ",e" * field.omitempty + ",z" * field.omitzero


def build(root: Path) -> str:
    """Return the content of the file. Raise LookupError where Go has no such type or field."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    schema = gen_api.load_schema()
    for definition in sorted(schema):
        if definition in gen_api.SCALARS:
            continue
        name = definition.rpartition(".")[2]
        fields = {
            field.name: word(field)
            for field in go_source.package(root, go_package(definition)).flat_fields(name)
        }
        if fields.keys() ^ (schema[definition].get("properties") or {}).keys():
            raise LookupError(f"{definition} has other fields in Go: {sorted(fields)}")
        found.setdefault(gen_api.module_of(definition), {})[name] = dict(sorted(fields.items()))
    return json.dumps({"release": go_source.RELEASE, "modules": found}, indent=0) + "\n"


if __name__ == "__main__":
    sys.exit(go_source.run_generator("tools.gen_go_types", TARGET, build))
