"""ControllerRevisions: rules.

Upstream: ``ValidateControllerRevision`` in ``pkg/apis/apps/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.api.apps_v1 import ControllerRevision
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.machinery import fields
from podling.machinery.fields import Path


class ControllerRevisionRules(TableRules[ControllerRevision]):
    def validate(self, obj: ControllerRevision, context: Context) -> Errors:
        errors = checks.non_negative(Path("revision"), obj.revision)
        if obj.data is None:
            errors.append(fields.required(Path("data"), "data is mandatory"))
        elif not isinstance(obj.data, Mapping):
            errors.append(fields.required(Path("data"), "data must be a valid JSON object"))
        return errors

    def validate_update(self, new: ControllerRevision, old: ControllerRevision, context: Context) -> Errors:
        errors = checks.non_negative(Path("revision"), new.revision)
        return errors + checks.immutable(Path("data"), new.data, old.data)
