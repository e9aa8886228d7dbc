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
    from podling.extensions.explanations import Annotator, Explainer
    from podling.kubelet.node_controllers import NodeControllerFactory


class KruiseExtension(Extension):
    """OpenKruise's workloads."""

    name: ClassVar[str] = "kruise"
    feature_gates: ClassVar[Mapping[str, bool]] = FEATURE_GATES

    def definitions(self) -> Sequence[CustomResourceDefinition]:
        from podling_kruise.advancedcronjob.definition import definition as advanced_cron_jobs
        from podling_kruise.broadcastjob.definition import definition as broadcast_jobs
        from podling_kruise.cloneset.definition import definition as clone_sets
        from podling_kruise.daemonset.definition import definition as daemon_sets
        from podling_kruise.imagelistpull.definition import definition as list_pull_jobs
        from podling_kruise.imagepull.definition import job_definition, node_definition
        from podling_kruise.podunavailablebudget.definition import definition as budgets
        from podling_kruise.recreate.definition import definition as recreate_requests
        from podling_kruise.sidecarset.definition import definition as sidecar_sets
        from podling_kruise.statefulset.definition import definition as stateful_sets

        return (
            clone_sets(),
            daemon_sets(),
            sidecar_sets(),
            stateful_sets(),
            broadcast_jobs(),
            advanced_cron_jobs(),
            budgets(),
            recreate_requests(),
            job_definition(),
            list_pull_jobs(),
            node_definition(),
        )

    def converters(self) -> Mapping[str, Converter]:
        from podling_kruise.cloneset.conversion import convert as convert_clone_set
        from podling_kruise.cloneset.definition import NAME as CLONE_SETS
        from podling_kruise.daemonset.conversion import convert as convert_daemon_set
        from podling_kruise.daemonset.definition import NAME as DAEMON_SETS
        from podling_kruise.podunavailablebudget.conversion import convert as convert_budget
        from podling_kruise.podunavailablebudget.definition import NAME as BUDGETS
        from podling_kruise.recreate.conversion import convert as convert_recreate_request
        from podling_kruise.recreate.definition import NAME as RECREATE_REQUESTS
        from podling_kruise.sidecarset.conversion import convert as convert_sidecar_set
        from podling_kruise.sidecarset.definition import NAME as SIDECAR_SETS
        from podling_kruise.statefulset.conversion import convert as convert_stateful_set
        from podling_kruise.statefulset.definition import NAME as STATEFUL_SETS

        return {
            CLONE_SETS: convert_clone_set,
            DAEMON_SETS: convert_daemon_set,
            BUDGETS: convert_budget,
            RECREATE_REQUESTS: convert_recreate_request,
            SIDECAR_SETS: convert_sidecar_set,
            STATEFUL_SETS: convert_stateful_set,
        }

    def objects(self) -> Sequence[Any]:
        from podling_kruise.roles import namespaces, roles

        return (*namespaces(), *roles())

    def admission_plugins(self) -> Sequence[Plugin]:
        from podling_kruise.advancedcronjob.admission import AdvancedCronJobAdmission
        from podling_kruise.broadcastjob.admission import BroadcastJobAdmission
        from podling_kruise.cloneset.admission import CloneSetAdmission
        from podling_kruise.daemonset.admission import DaemonSetAdmission
        from podling_kruise.deletion_protection import DeletionProtection
        from podling_kruise.imagelistpull.admission import ImageListPullAdmission
        from podling_kruise.imagepull.admission import ImagePullAdmission
        from podling_kruise.launchpriority.admission import LaunchPriorityAdmission
        from podling_kruise.podunavailablebudget.admission import BudgetAdmission
        from podling_kruise.podunavailablebudget.pod_admission import BudgetProtection
        from podling_kruise.readinessgate.admission import ReadinessGateAdmission
        from podling_kruise.recreate.admission import RecreateAdmission
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
            AdvancedCronJobAdmission(self.features),
            LaunchPriorityAdmission(),
            ReadinessGateAdmission(self.features),
            RecreateAdmission(),
            ImagePullAdmission(),
            ImageListPullAdmission(),
            DeletionProtection(self.features),
            BudgetAdmission(),
            BudgetProtection(self.features),
        )

    def controllers(self) -> Mapping[str, ControllerFactory]:
        from podling_kruise.advancedcronjob.controller import AdvancedCronJobController
        from podling_kruise.broadcastjob.controller import BroadcastJobController
        from podling_kruise.cloneset.controller import CloneSetController
        from podling_kruise.daemonset.controller import AdvancedDaemonSetController
        from podling_kruise.imagelistpull.controller import ImageListPullJobController
        from podling_kruise.imagepull.controller import ImagePullJobController
        from podling_kruise.imagepull.node_image_controller import NodeImageController
        from podling_kruise.launchpriority.controller import LaunchPriorityController
        from podling_kruise.podunavailablebudget.controller import BudgetController
        from podling_kruise.readinessgate.controller import PodReadinessController
        from podling_kruise.recreate.controller import RecreateController
        from podling_kruise.sidecarset.controller import SidecarSetController
        from podling_kruise.statefulset.controller import AdvancedStatefulSetController

        return {
            CloneSetController.name: partial(CloneSetController, gates=self.features),
            AdvancedDaemonSetController.name: partial(AdvancedDaemonSetController, gates=self.features),
            LaunchPriorityController.name: LaunchPriorityController,
            BudgetController.name: BudgetController,
            SidecarSetController.name: SidecarSetController,
            BroadcastJobController.name: BroadcastJobController,
            AdvancedCronJobController.name: AdvancedCronJobController,
            PodReadinessController.name: PodReadinessController,
            RecreateController.name: RecreateController,
            ImagePullJobController.name: ImagePullJobController,
            ImageListPullJobController.name: ImageListPullJobController,
            NodeImageController.name: NodeImageController,
            AdvancedStatefulSetController.name: partial(AdvancedStatefulSetController, gates=self.features),
        }

    def node_controllers(self) -> Mapping[str, NodeControllerFactory]:
        from podling_kruise.containermeta.node_controller import ContainerMetaNodeController
        from podling_kruise.imagepull.node_controller import ImagePullNodeController
        from podling_kruise.names import ENV_FROM_METADATA
        from podling_kruise.recreate.node_controller import RecreateNodeController

        found: dict[str, NodeControllerFactory] = {
            RecreateNodeController.name: RecreateNodeController,
            ImagePullNodeController.name: ImagePullNodeController,
        }
        if self.features[ENV_FROM_METADATA]:
            found[ContainerMetaNodeController.name] = ContainerMetaNodeController
        return found

    def explainers(self) -> Mapping[str, Explainer]:
        from podling_kruise.advancedcronjob.definition import NAME as ADVANCED_CRON_JOBS
        from podling_kruise.advancedcronjob.explain import explain as explain_cron_job
        from podling_kruise.broadcastjob.definition import NAME as BROADCAST_JOBS
        from podling_kruise.broadcastjob.explain import explain as explain_broadcast_job
        from podling_kruise.cloneset.definition import NAME as CLONE_SETS
        from podling_kruise.cloneset.explain import explain as explain_clone_set
        from podling_kruise.daemonset.definition import NAME as DAEMON_SETS
        from podling_kruise.daemonset.explain import explain as explain_daemon_set
        from podling_kruise.imagelistpull.definition import NAME as LIST_PULL_JOBS
        from podling_kruise.imagelistpull.explain import explain as explain_list_pull_job
        from podling_kruise.imagepull.definition import JOBS
        from podling_kruise.imagepull.explain import explain as explain_pull_job
        from podling_kruise.podunavailablebudget.definition import NAME as BUDGETS
        from podling_kruise.podunavailablebudget.explain import explain as explain_budget
        from podling_kruise.recreate.definition import NAME as RECREATE_REQUESTS
        from podling_kruise.recreate.explain import explain as explain_request
        from podling_kruise.set_explanations import explain_stateful_set
        from podling_kruise.sidecarset.definition import NAME as SIDECAR_SETS
        from podling_kruise.sidecarset.explain import explain as explain_sidecar_set
        from podling_kruise.statefulset.definition import NAME as STATEFUL_SETS

        return {
            CLONE_SETS: explain_clone_set,
            STATEFUL_SETS: explain_stateful_set,
            DAEMON_SETS: explain_daemon_set,
            SIDECAR_SETS: explain_sidecar_set,
            BROADCAST_JOBS: explain_broadcast_job,
            RECREATE_REQUESTS: explain_request,
            JOBS: explain_pull_job,
            LIST_PULL_JOBS: explain_list_pull_job,
            ADVANCED_CRON_JOBS: explain_cron_job,
            BUDGETS: explain_budget,
        }

    def notes(self) -> Mapping[str, Annotator]:
        from podling_kruise.names import CRD_CASCADING, DELETION_PROTECTION_GATE
        from podling_kruise.protection_notes import DEFINITIONS, KINDS, gate_is_closed, note

        if not self.features[DELETION_PROTECTION_GATE]:
            return {}
        found = {name: partial(note, kind, parts) for name, (kind, parts) in KINDS.items()}
        if not self.features[CRD_CASCADING]:
            found[DEFINITIONS] = partial(note, KINDS[DEFINITIONS][0], gate_is_closed)
        return found
