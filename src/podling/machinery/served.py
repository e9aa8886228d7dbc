"""The resources that a Kubernetes 1.36 API server serves by default, as its discovery shows them.

Two resources may be two views of one stored object (core and ``events.k8s.io`` events; the versions
of horizontal pod autoscalers): then ``storage`` of one is the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

from podling.machinery.resource import ALL_VERBS, CONNECT, CREATE, PROXY, READ_WRITE, Resource, Subresource


class _Group:
    """Builds the resources of one group and version: the shared words are said once."""

    def __init__(self, group: str, version: str) -> None:
        self.group, self.version = group, version

    def __call__(
        self,
        plural: str,
        kind: str,
        *,
        short: str = "",
        categories: str = "",
        parts: Sequence[Subresource | str] = (),
        **options: Any,
    ) -> Resource:
        subresources = {
            part.name: part
            for part in (self.part(part, kind) if isinstance(part, str) else part for part in parts)
        }
        return Resource(
            group=self.group,
            version=self.version,
            plural=plural,
            singular=kind.lower(),
            kind=kind,
            namespaced=options.pop("namespaced", True),
            short_names=tuple(short.split()),
            categories=tuple(categories.split()),
            subresources=MappingProxyType(subresources),
            **options,
        )

    def part(self, name: str, kind: str, verbs: tuple[str, ...] = READ_WRITE) -> Subresource:
        return Subresource(name, self.group, self.version, kind, verbs)


_EVENTS = _Group("", "v1")("events", "Event", short="ev")
_SCALE = Subresource("scale", "autoscaling", "v1", "Scale", READ_WRITE)
_NO_COLLECTION_DELETE = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")


def _core() -> Iterator[Resource]:
    core = _Group("", "v1")
    part = core.part
    yield core("bindings", "Binding", verbs=CREATE)
    yield core("componentstatuses", "ComponentStatus", short="cs", namespaced=False, verbs=("get", "list"))
    yield core("configmaps", "ConfigMap", short="cm")
    yield core("endpoints", "Endpoints", short="ep")
    yield _EVENTS
    yield core("limitranges", "LimitRange", short="limits")
    finalize = part("finalize", "Namespace", ("update",))
    yield core(
        "namespaces",
        "Namespace",
        short="ns",
        namespaced=False,
        parts=(finalize, "status"),
        verbs=_NO_COLLECTION_DELETE,
    )
    node_proxy = part("proxy", "NodeProxyOptions", PROXY)
    yield core("nodes", "Node", short="no", namespaced=False, parts=(node_proxy, "status"))
    yield core("persistentvolumeclaims", "PersistentVolumeClaim", short="pvc", parts=("status",))
    yield core("persistentvolumes", "PersistentVolume", short="pv", namespaced=False, parts=("status",))
    pod_parts = (
        part("attach", "PodAttachOptions", CONNECT),
        part("binding", "Binding", CREATE),
        "ephemeralcontainers",
        Subresource("eviction", "policy", "v1", "Eviction", CREATE),
        part("exec", "PodExecOptions", CONNECT),
        part("log", "Pod", ("get",)),
        part("portforward", "PodPortForwardOptions", CONNECT),
        part("proxy", "PodProxyOptions", PROXY),
        "resize",
        "status",
    )
    yield core("pods", "Pod", short="po", categories="all", parts=pod_parts)
    yield core("podtemplates", "PodTemplate")
    yield core(
        "replicationcontrollers",
        "ReplicationController",
        short="rc",
        categories="all",
        parts=(_SCALE, "status"),
    )
    yield core("resourcequotas", "ResourceQuota", short="quota", parts=("status",))
    yield core("secrets", "Secret")
    token = Subresource("token", "authentication.k8s.io", "v1", "TokenRequest", CREATE)
    yield core("serviceaccounts", "ServiceAccount", short="sa", parts=(token,))
    service_proxy = part("proxy", "ServiceProxyOptions", PROXY)
    yield core("services", "Service", short="svc", categories="all", parts=(service_proxy, "status"))


def _workloads() -> Iterator[Resource]:
    apps = _Group("apps", "v1")
    yield apps("controllerrevisions", "ControllerRevision")
    yield apps("daemonsets", "DaemonSet", short="ds", categories="all", parts=("status",))
    yield apps("deployments", "Deployment", short="deploy", categories="all", parts=(_SCALE, "status"))
    yield apps("replicasets", "ReplicaSet", short="rs", categories="all", parts=(_SCALE, "status"))
    yield apps("statefulsets", "StatefulSet", short="sts", categories="all", parts=(_SCALE, "status"))
    batch = _Group("batch", "v1")
    yield batch("cronjobs", "CronJob", short="cj", categories="all", parts=("status",))
    yield batch("jobs", "Job", categories="all", parts=("status",))
    autoscaler: dict[str, Any] = {
        "plural": "horizontalpodautoscalers",
        "kind": "HorizontalPodAutoscaler",
        "short": "hpa",
        "categories": "all",
        "parts": ("status",),
    }
    newest = _Group("autoscaling", "v2")(**autoscaler)
    yield newest
    yield _Group("autoscaling", "v1")(**autoscaler, storage=newest)
    policy = _Group("policy", "v1")
    yield policy("poddisruptionbudgets", "PodDisruptionBudget", short="pdb", parts=("status",))
    scheduling = _Group("scheduling.k8s.io", "v1")
    yield scheduling("priorityclasses", "PriorityClass", short="pc", namespaced=False)
    yield _Group("events.k8s.io", "v1")("events", "Event", short="ev", storage=_EVENTS)
    yield _Group("coordination.k8s.io", "v1")("leases", "Lease")
    yield _Group("discovery.k8s.io", "v1")("endpointslices", "EndpointSlice")
    yield _Group("node.k8s.io", "v1")("runtimeclasses", "RuntimeClass", namespaced=False)


def _access() -> Iterator[Resource]:
    authentication = _Group("authentication.k8s.io", "v1")
    yield authentication("selfsubjectreviews", "SelfSubjectReview", namespaced=False, verbs=CREATE)
    yield authentication("tokenreviews", "TokenReview", namespaced=False, verbs=CREATE)
    authorization = _Group("authorization.k8s.io", "v1")
    yield authorization("localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=CREATE)
    for name in ("SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"):
        yield authorization(f"{name.lower()}s", name, namespaced=False, verbs=CREATE)
    certificates = _Group("certificates.k8s.io", "v1")
    request = "CertificateSigningRequest"
    yield certificates(
        "certificatesigningrequests", request, short="csr", namespaced=False, parts=("approval", "status")
    )
    rbac = _Group("rbac.authorization.k8s.io", "v1")
    yield rbac("clusterrolebindings", "ClusterRoleBinding", namespaced=False)
    yield rbac("clusterroles", "ClusterRole", namespaced=False)
    yield rbac("rolebindings", "RoleBinding")
    yield rbac("roles", "Role")


def _extension() -> Iterator[Resource]:
    admission = _Group("admissionregistration.k8s.io", "v1")
    extensions: dict[str, Any] = {"namespaced": False, "categories": "api-extensions"}
    yield admission("mutatingadmissionpolicies", "MutatingAdmissionPolicy", **extensions)
    yield admission("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", **extensions)
    yield admission("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", **extensions)
    yield admission(
        "validatingadmissionpolicies", "ValidatingAdmissionPolicy", parts=("status",), **extensions
    )
    yield admission("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", **extensions)
    yield admission("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", **extensions)
    yield _Group("apiextensions.k8s.io", "v1")(
        "customresourcedefinitions",
        "CustomResourceDefinition",
        short="crd crds",
        parts=("status",),
        **extensions,
    )
    registration = _Group("apiregistration.k8s.io", "v1")
    yield registration("apiservices", "APIService", parts=("status",), **extensions)
    flow = _Group("flowcontrol.apiserver.k8s.io", "v1")
    yield flow("flowschemas", "FlowSchema", namespaced=False, parts=("status",))
    yield flow(
        "prioritylevelconfigurations", "PriorityLevelConfiguration", namespaced=False, parts=("status",)
    )


def _infrastructure() -> Iterator[Resource]:
    networking = _Group("networking.k8s.io", "v1")
    yield networking("ingressclasses", "IngressClass", namespaced=False)
    yield networking("ingresses", "Ingress", short="ing", parts=("status",))
    yield networking("ipaddresses", "IPAddress", short="ip", namespaced=False)
    yield networking("networkpolicies", "NetworkPolicy", short="netpol")
    yield networking("servicecidrs", "ServiceCIDR", namespaced=False, parts=("status",))
    resource = _Group("resource.k8s.io", "v1")
    yield resource("deviceclasses", "DeviceClass", namespaced=False)
    yield resource("resourceclaims", "ResourceClaim", parts=("status",))
    yield resource("resourceclaimtemplates", "ResourceClaimTemplate")
    yield resource("resourceslices", "ResourceSlice", namespaced=False)
    storage = _Group("storage.k8s.io", "v1")
    yield storage("csidrivers", "CSIDriver", namespaced=False)
    yield storage("csinodes", "CSINode", namespaced=False)
    yield storage("csistoragecapacities", "CSIStorageCapacity")
    yield storage("storageclasses", "StorageClass", short="sc", namespaced=False)
    yield storage("volumeattachments", "VolumeAttachment", namespaced=False, parts=("status",))
    yield storage("volumeattributesclasses", "VolumeAttributesClass", short="vac", namespaced=False)


RESOURCES: tuple[Resource, ...] = (
    *_core(),
    *_workloads(),
    *_access(),
    *_extension(),
    *_infrastructure(),
)
"""Every resource served; within a group the preferred version comes first."""


def _pod_groups() -> Iterator[Resource]:
    scheduling = _Group("scheduling.k8s.io", "v1alpha2")
    yield scheduling("podgroups", "PodGroup", parts=("status",))
    yield scheduling("workloads", "Workload")


def _trust_bundles() -> Iterator[Resource]:
    yield _Group("certificates.k8s.io", "v1beta1")(
        "clustertrustbundles", "ClusterTrustBundle", namespaced=False
    )


GATED: dict[str, tuple[Resource, ...]] = {
    "ClusterTrustBundle": tuple(_trust_bundles()),
    "GenericWorkload": tuple(_pod_groups()),
}
"""Resources that are served in addition while a feature gate is on, by gate."""
