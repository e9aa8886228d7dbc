"""The flow schemas and priority levels that every cluster has.

Source: ``k8s.io/kubernetes/pkg/apis/flowcontrol/bootstrap/default.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.flowcontrol_v1 import (
    ExemptPriorityLevelConfiguration,
    FlowDistinguisherMethod,
    FlowSchema,
    FlowSchemaSpec,
    GroupSubject,
    LimitedPriorityLevelConfiguration,
    LimitResponse,
    NonResourcePolicyRule,
    PolicyRulesWithSubjects,
    PriorityLevelConfiguration,
    PriorityLevelConfigurationReference,
    PriorityLevelConfigurationSpec,
    QueuingConfiguration,
    ResourcePolicyRule,
    ServiceAccountSubject,
    Subject,
    UserSubject,
)
from podling.api.meta_v1 import ObjectMeta

EXEMPT, CATCH_ALL = "exempt", "catch-all"
MANDATORY = (EXEMPT, CATCH_ALL)
"""The names of the mandatory flow schemas and of the mandatory priority levels."""
AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
ALL = ("*",)
_BY_USER, _BY_NAMESPACE = "ByUser", "ByNamespace"
_MANAGER, _SCHEDULER = "system:kube-controller-manager", "system:kube-scheduler"
_EVERYBODY = ("system:unauthenticated", "system:authenticated")
_LOCKS = ("get", "create", "update")
_LEASES = "coordination.k8s.io"


def priority_levels() -> Iterator[PriorityLevelConfiguration]:
    exempt = ExemptPriorityLevelConfiguration(nominal_concurrency_shares=0, lendable_percent=0)
    yield _level("exempt", PriorityLevelConfigurationSpec(type="Exempt", exempt=exempt))
    yield _level("catch-all", _limited(5, 0, None))
    for name, shares, lendable, queues, hand in (
        ("system", 30, 33, 64, 6),
        ("node-high", 40, 25, 64, 6),
        ("leader-election", 10, 0, 16, 4),
        ("workload-high", 40, 50, 128, 6),
        ("workload-low", 100, 90, 128, 6),
        ("global-default", 20, 50, 128, 6),
    ):
        queuing = QueuingConfiguration(queues=queues, hand_size=hand, queue_length_limit=50)
        yield _level(name, _limited(shares, lendable, queuing))


def mandatory_levels() -> list[PriorityLevelConfiguration]:
    return [each for each in priority_levels() if each.metadata.name in MANDATORY]


def mandatory_schemas() -> list[FlowSchema]:
    return [each for each in flow_schemas() if each.metadata.name in MANDATORY]


def flow_schemas() -> Iterator[FlowSchema]:
    """Return the default FlowSchemas in the order in which they match."""
    locks = _resources(_LOCKS, _LEASES, ("leases",))
    old_locks = _resources(_LOCKS, "", ("endpoints", "configmaps"))
    own_account = _accounts("*")
    yield _schema("exempt", "exempt", 1, "", _all_requests(_groups("system:masters")))
    health = NonResourcePolicyRule(verbs=("get",), non_resource_urls=("/healthz", "/readyz", "/livez"))
    probes = PolicyRulesWithSubjects(subjects=_groups(*_EVERYBODY), non_resource_rules=(health,))
    yield _schema("probes", "exempt", 2, "", probes)
    election = PolicyRulesWithSubjects(
        subjects=(*_users(_MANAGER, _SCHEDULER), *own_account), resource_rules=(locks,)
    )
    yield _schema("system-leader-election", "leader-election", 100, _BY_USER, election)
    writers = (*_users(_MANAGER), *_accounts("endpoint-controller", "endpointslicemirroring-controller"))
    endpoints = PolicyRulesWithSubjects(
        subjects=writers, resource_rules=(_resources(_LOCKS, "", ("endpoints",)),)
    )
    yield _schema("endpoint-controller", "workload-high", 150, _BY_USER, endpoints)
    workloads = PolicyRulesWithSubjects(subjects=own_account, resource_rules=(old_locks, locks))
    yield _schema("workload-leader-election", "leader-election", 200, _BY_USER, workloads)
    own = _resources(ALL, "", ("nodes", "nodes/status"), everywhere=True)
    nodes = PolicyRulesWithSubjects(
        subjects=_groups("system:nodes"), resource_rules=(own, _resources(ALL, _LEASES, ("leases",)))
    )
    yield _schema("system-node-high", "node-high", 400, _BY_USER, nodes)
    yield _schema("system-nodes", "system", 500, _BY_USER, _all_requests(_groups("system:nodes")))
    for name, subjects, precedence in (
        ("kube-controller-manager", _users(_MANAGER), 800),
        ("kube-scheduler", _users(_SCHEDULER), 800),
        ("kube-system-service-accounts", own_account, 900),
    ):
        yield _schema(name, "workload-high", precedence, _BY_NAMESPACE, _all_requests(subjects))
    accounts = _all_requests(_groups("system:serviceaccounts"))
    yield _schema("service-accounts", "workload-low", 9000, _BY_USER, accounts)
    for name, precedence in (("global-default", 9900), ("catch-all", 10_000)):
        yield _schema(name, name, precedence, _BY_USER, _all_requests(_groups(*_EVERYBODY)))


def _metadata(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, annotations={AUTO_UPDATE: "true"})


def _level(name: str, spec: PriorityLevelConfigurationSpec) -> PriorityLevelConfiguration:
    return PriorityLevelConfiguration(metadata=_metadata(name), spec=spec)


def _limited(
    shares: int, lendable: int, queuing: QueuingConfiguration | None
) -> PriorityLevelConfigurationSpec:
    response = LimitResponse(type="Reject" if queuing is None else "Queue", queuing=queuing)
    limited = LimitedPriorityLevelConfiguration(
        nominal_concurrency_shares=shares, lendable_percent=lendable, limit_response=response
    )
    return PriorityLevelConfigurationSpec(type="Limited", limited=limited)


def _schema(
    name: str, level: str, precedence: int, distinguisher: str, rules: PolicyRulesWithSubjects
) -> FlowSchema:
    spec = FlowSchemaSpec(
        priority_level_configuration=PriorityLevelConfigurationReference(name=level),
        matching_precedence=precedence,
        distinguisher_method=FlowDistinguisherMethod(type=distinguisher) if distinguisher else None,
        rules=(rules,),
    )
    return FlowSchema(metadata=_metadata(name), spec=spec)


def _all_requests(subjects: tuple[Subject, ...]) -> PolicyRulesWithSubjects:
    resources = ResourcePolicyRule(
        verbs=ALL, api_groups=ALL, resources=ALL, namespaces=ALL, cluster_scope=True
    )
    paths = NonResourcePolicyRule(verbs=ALL, non_resource_urls=ALL)
    return PolicyRulesWithSubjects(
        subjects=subjects, resource_rules=(resources,), non_resource_rules=(paths,)
    )


def _resources(
    verbs: tuple[str, ...], group: str, resources: tuple[str, ...], *, everywhere: bool = False
) -> ResourcePolicyRule:
    """Return rules for resources in every namespace; ``everywhere`` adds cluster-scoped requests."""
    return ResourcePolicyRule(
        verbs=verbs,
        api_groups=(group,),
        resources=resources,
        namespaces=ALL,
        cluster_scope=everywhere,
    )


def _groups(*names: str) -> tuple[Subject, ...]:
    return tuple(Subject(kind="Group", group=GroupSubject(name=name)) for name in names)


def _users(*names: str) -> tuple[Subject, ...]:
    return tuple(Subject(kind="User", user=UserSubject(name=name)) for name in names)


def _accounts(*names: str) -> tuple[Subject, ...]:
    """Return service accounts of ``kube-system``."""
    return tuple(
        Subject(
            kind="ServiceAccount", service_account=ServiceAccountSubject(name=name, namespace="kube-system")
        )
        for name in names
    )
