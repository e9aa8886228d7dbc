"""Secrets: like ConfigMaps, with a type that requires certain keys.

``stringData`` is merged into ``data`` and never stored.

Upstream: ``ValidateSecret`` in ``pkg/apis/core/validation/validation.go``, ``pkg/registry/core/secret``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import Secret
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_empty
from podling.apiserver.kinds.core.configmaps import MAX_SIZE, decoded_size, immutable_data_errors, key_errors
from podling.apiserver.kinds.core.tls_pairs import pair_problem
from podling.machinery import fields
from podling.machinery.certificate_requests import pem_of
from podling.machinery.encoding.jsonscan import complaint
from podling.machinery.encoding.plain import json_type
from podling.machinery.fields import Path
from podling.machinery.tables import Column
from podling.machinery.tokens.legacy_tokens import ACCOUNT_NAME, SECRET_TYPE

OPAQUE = "Opaque"
TLS = "kubernetes.io/tls"
DATA = Path("data")

_ALL_OF = {
    TLS: ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}
"""The required keys by type of secret."""

_JSON = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


class SecretRules(KindRules[Secret]):
    columns = (
        NAME,
        Column("Type", description="What the secret is for"),
        Column("Data", description="How many keys there are"),
        AGE,
    )
    field_labels = ("type",)

    def default(self, obj: Secret) -> Secret:
        obj = fill_empty(obj, type=OPAQUE)
        if not obj.string_data:
            return obj
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in obj.string_data.items()}
        return change(obj, data={**obj.data, **encoded}, string_data={})

    def validate(self, obj: Secret, context: Context) -> Errors:
        errors = key_errors(DATA, obj.data)
        if sum(map(decoded_size, obj.data.values())) > MAX_SIZE:
            errors.append(fields.too_long(DATA, MAX_SIZE))
        return errors + _type_errors(obj)

    def validate_update(self, new: Secret, old: Secret, context: Context) -> Errors:
        errors = checks.immutable(Path("type"), new.type, old.type)
        return errors + immutable_data_errors(new, old, {"data": "data"}) + self.validate(new, context)

    def warnings(self, obj: Secret, old: Secret | None, context: Context) -> list[str]:
        if obj.type != TLS:
            return []
        problem = pair_problem(pem_of(obj.data.get("tls.crt")), pem_of(obj.data.get("tls.key")))
        return [problem] if problem else []

    def selectable_fields(self, obj: Secret) -> dict[str, str]:
        return {"type": obj.type or ""}

    def row(self, obj: Secret, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, obj.type, len(obj.data), age(obj, now)


def _type_errors(obj: Secret) -> Errors:
    type_ = obj.type or ""
    if type_ == SECRET_TYPE and not obj.metadata.annotations.get(ACCOUNT_NAME):
        return [fields.required(Path("metadata.annotations").key(ACCOUNT_NAME))]
    if type_ == "kubernetes.io/basic-auth" and not {"username", "password"} & obj.data.keys():
        return [fields.required(DATA.key("username")), fields.required(DATA.key("password"))]
    if type_ == "kubernetes.io/ssh-auth" and not obj.data.get("ssh-privatekey"):
        return [fields.required(DATA.key("ssh-privatekey"))]
    errors = [fields.required(DATA.key(key)) for key in _ALL_OF.get(type_, ()) if key not in obj.data]
    key = _JSON.get(type_)
    if key is not None and key in obj.data:
        problem = _json_problem(obj.data[key])
        if problem:
            errors.append(fields.invalid(DATA.key(key), "<secret contents redacted>", problem))
    return errors


def _json_problem(encoded: str) -> str:
    """Return the reason why a value is not a JSON object, without the secret value itself."""
    try:
        text = base64.b64decode(encoded).decode(errors="replace")
    except ValueError as error:
        return str(error)
    problem = complaint(text)
    if problem:
        return problem
    value = json.loads(text)
    if value is None or isinstance(value, dict):
        return ""  # Go decodes null as an empty map
    return f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"
