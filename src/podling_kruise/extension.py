"""The extension ``kruise``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from podling.extensions.extension import Extension
from podling_kruise.names import FEATURE_GATES

if TYPE_CHECKING:
    from podling.api.apiextensions_v1 import CustomResourceDefinition
    from podling.apiserver.admission.base import Plugin
    from podling.apiserver.customresources.conversion import Converter
    from podling.controllers.base import ControllerFactory


class KruiseExtension(Extension):
    """OpenKruise's workloads."""

    name: ClassVar[str] = "kruise"
    feature_gates: ClassVar[Mapping[str, bool]] = FEATURE_GATES

    def definitions(self) -> Sequence[CustomResourceDefinition]:
        from podling_kruise.cloneset.definition import definition

        return (definition(),)

    def converters(self) -> Mapping[str, Converter]:
        from podling_kruise.cloneset.conversion import convert
        from podling_kruise.cloneset.definition import NAME

        return {NAME: convert}

    def objects(self) -> Sequence[Any]:
        from podling_kruise.roles import roles

        return roles()

    def admission_plugins(self) -> Sequence[Plugin]:
        from podling_kruise.cloneset.admission import CloneSetAdmission
        from podling_kruise.deletion_protection import DeletionProtection

        return (CloneSetAdmission(self.features), DeletionProtection(self.features))

    def controllers(self) -> Mapping[str, ControllerFactory]:
        from podling_kruise.cloneset.controller import CloneSetController

        return {CloneSetController.name: partial(CloneSetController, gates=self.features)}
