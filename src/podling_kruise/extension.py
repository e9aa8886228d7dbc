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
        from podling_kruise.sidecarset.definition import definition as sidecar_sets

        return (definition(), sidecar_sets())

    def converters(self) -> Mapping[str, Converter]:
        from podling_kruise.cloneset.conversion import convert
        from podling_kruise.cloneset.definition import NAME
        from podling_kruise.sidecarset.conversion import convert as convert_sidecar_set
        from podling_kruise.sidecarset.definition import NAME as SIDECAR_SETS

        return {NAME: convert, SIDECAR_SETS: convert_sidecar_set}

    def objects(self) -> Sequence[Any]:
        from podling_kruise.roles import roles, system_namespace

        return (system_namespace(), *roles())

    def admission_plugins(self) -> Sequence[Plugin]:
        from podling_kruise.cloneset.admission import CloneSetAdmission
        from podling_kruise.deletion_protection import DeletionProtection
        from podling_kruise.sidecarset.admission import SidecarSetAdmission
        from podling_kruise.sidecarset.pod_injection import SidecarInjection

        return (
            CloneSetAdmission(self.features),
            SidecarSetAdmission(self.features),
            SidecarInjection(self.features),
            DeletionProtection(self.features),
        )

    def controllers(self) -> Mapping[str, ControllerFactory]:
        from podling_kruise.cloneset.controller import CloneSetController
        from podling_kruise.sidecarset.controller import SidecarSetController

        return {
            CloneSetController.name: partial(CloneSetController, gates=self.features),
            SidecarSetController.name: SidecarSetController,
        }
