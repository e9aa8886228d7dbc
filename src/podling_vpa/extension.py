"""The extension ``vpa``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from podling.extensions.extension import Extension
from podling_vpa.names import FEATURE_GATES

if TYPE_CHECKING:
    from podling.api.apiextensions_v1 import CustomResourceDefinition
    from podling.apiserver.admission.base import Plugin
    from podling.controllers.base import ControllerFactory
    from podling.extensions.explanations import Explainer


class VpaExtension(Extension):
    """VerticalPodAutoscalers."""

    name: ClassVar[str] = "vpa"
    feature_gates: ClassVar[Mapping[str, bool]] = FEATURE_GATES

    def definitions(self) -> Sequence[CustomResourceDefinition]:
        from podling_vpa.definitions import autoscaler_definition, checkpoint_definition

        return (autoscaler_definition(), checkpoint_definition())

    def objects(self) -> Sequence[Any]:
        from podling_vpa.roles import roles

        return roles()

    def admission_plugins(self) -> Sequence[Plugin]:
        from podling_vpa.autoscaler_admission import AutoscalerAdmission
        from podling_vpa.pod_admission import PodAdmission

        return (AutoscalerAdmission(self.features), PodAdmission())

    def controllers(self) -> Mapping[str, ControllerFactory]:
        from functools import partial

        from podling_vpa.recommender.controller import RecommenderController
        from podling_vpa.updater.controller import UpdaterController

        return {
            RecommenderController.name: partial(RecommenderController, gates=self.features),
            UpdaterController.name: partial(UpdaterController, gates=self.features),
        }

    def explainers(self) -> Mapping[str, Explainer]:
        from podling_vpa.definitions import NAME
        from podling_vpa.explain import explain

        return {NAME: explain}
