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
    from podling.extensions.explanations import Explainer


class KruiseExtension(Extension):
    """OpenKruise's workloads."""

    name: ClassVar[str] = "kruise"
    feature_gates: ClassVar[Mapping[str, bool]] = FEATURE_GATES

    def definitions(self) -> Sequence[CustomResourceDefinition]:
        from podling_kruise.broadcastjob.definition import definition as broadcast_jobs
        from podling_kruise.cloneset.definition import definition as clone_sets
        from podling_kruise.daemonset.definition import definition as daemon_sets
        from podling_kruise.sidecarset.definition import definition as sidecar_sets
        from podling_kruise.statefulset.definition import definition as stateful_sets

        return (
            clone_sets(),
            daemon_sets(),
            sidecar_sets(),
            stateful_sets(),
            broadcast_jobs(),
        )

    def converters(self) -> Mapping[str, Converter]:
        from podling_kruise.cloneset.conversion import convert as convert_clone_set
        from podling_kruise.cloneset.definition import NAME as CLONE_SETS
        from podling_kruise.daemonset.conversion import convert as convert_daemon_set
        from podling_kruise.daemonset.definition import NAME as DAEMON_SETS
        from podling_kruise.sidecarset.conversion import convert as convert_sidecar_set
        from podling_kruise.sidecarset.definition import NAME as SIDECAR_SETS
        from podling_kruise.statefulset.conversion import convert as convert_stateful_set
        from podling_kruise.statefulset.definition import NAME as STATEFUL_SETS

        return {
            CLONE_SETS: convert_clone_set,
            DAEMON_SETS: convert_daemon_set,
            SIDECAR_SETS: convert_sidecar_set,
            STATEFUL_SETS: convert_stateful_set,
        }

    def objects(self) -> Sequence[Any]:
        from podling_kruise.roles import roles, system_namespace

        return (system_namespace(), *roles())

    def admission_plugins(self) -> Sequence[Plugin]:
        from podling_kruise.broadcastjob.admission import BroadcastJobAdmission
        from podling_kruise.cloneset.admission import CloneSetAdmission
        from podling_kruise.daemonset.admission import DaemonSetAdmission
        from podling_kruise.deletion_protection import DeletionProtection
        from podling_kruise.launchpriority.admission import LaunchPriorityAdmission
        from podling_kruise.sidecarset.admission import SidecarSetAdmission
        from podling_kruise.sidecarset.pod_injection import SidecarInjection
        from podling_kruise.statefulset.admission import StatefulSetAdmission

        return (
            CloneSetAdmission(self.features),
            DaemonSetAdmission(self.features),
            StatefulSetAdmission(self.features),
            SidecarSetAdmission(self.features),
            SidecarInjection(self.features),
            BroadcastJobAdmission(self.features),
            LaunchPriorityAdmission(),
            DeletionProtection(self.features),
        )

    def controllers(self) -> Mapping[str, ControllerFactory]:
        from podling_kruise.broadcastjob.controller import BroadcastJobController
        from podling_kruise.cloneset.controller import CloneSetController
        from podling_kruise.daemonset.controller import AdvancedDaemonSetController
        from podling_kruise.launchpriority.controller import LaunchPriorityController
        from podling_kruise.sidecarset.controller import SidecarSetController
        from podling_kruise.statefulset.controller import AdvancedStatefulSetController

        return {
            CloneSetController.name: partial(CloneSetController, gates=self.features),
            AdvancedDaemonSetController.name: partial(AdvancedDaemonSetController, gates=self.features),
            LaunchPriorityController.name: LaunchPriorityController,
            SidecarSetController.name: SidecarSetController,
            BroadcastJobController.name: BroadcastJobController,
            AdvancedStatefulSetController.name: partial(AdvancedStatefulSetController, gates=self.features),
        }

    def explainers(self) -> Mapping[str, Explainer]:
        from podling_kruise.cloneset.definition import NAME
        from podling_kruise.cloneset.explain import explain

        return {NAME: explain}
