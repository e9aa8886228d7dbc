"""CustomResourceDefinitions of VerticalPodAutoscalers and their checkpoints. Pure.

Upstream: ``deploy/vpa-v1-crd-gen.yaml``, version v1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.machinery.encoding import codec
from podling_vpa.names import (
    APPROVED,
    CHECKPOINT_KIND,
    GROUP,
    HIGHER,
    KIND,
    LOWER,
    REQUESTS_AND_LIMITS,
    REQUESTS_ONLY,
    UPDATE_MODES,
    VERSION,
)

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
TIME: Schema = {"type": "string", "format": "date-time"}
NULLABLE_TIME: Schema = {**TIME, "nullable": True}
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY_PATTERN = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"
QUANTITY: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": QUANTITY_PATTERN,
    "x-kubernetes-int-or-string": True,
}
AMOUNTS: Schema = {"type": "object", "additionalProperties": QUANTITY}
NAME = f"{KIND.lower()}s.{GROUP}"


def _record(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    found: Schema = {"type": "object", "properties": properties}
    return {**found, "required": list(required)} if required else found


def _said(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def _list(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _number(bits: int, least: int | None = None) -> Schema:
    found: Schema = {"type": "integer", "format": f"int{bits}"}
    return found if least is None else {**found, "minimum": least}


_TARGET = {
    **_record(("kind", "name"), apiVersion=TEXT, kind=TEXT, name=TEXT),
    "x-kubernetes-map-type": "atomic",
}
_REQUIREMENT = _record(
    ("changeRequirement", "resources"),
    changeRequirement=_said(_one_of(HIGHER, LOWER), "The change that a resource must need."),
    resources=_said(_list(TEXT), "Resources of which at least one must need the change."),
)
_UPDATE_POLICY = _record(
    updateMode=_said(_one_of(*UPDATE_MODES), "When changes reach pods. The default is Recreate."),
    minReplicas=_said(_number(32), "Replicas that must be alive for the updater to evict a pod."),
    evictionRequirements=_said(_list(_REQUIREMENT), "Requirements that must all hold for an eviction."),
    evictAfterOOMSeconds=_said(_number(32, 1), "A container that runs out of memory earlier is updated."),
)
_BOOST = _record(
    cpu={
        **_record(
            ("type",),
            type=_one_of("Factor", "Quantity"),
            factor=_number(32),
            quantity=QUANTITY,
            durationSeconds=_number(32),
        ),
        "x-kubernetes-validations": [
            {
                "message": f"{name} is required when type is {kind} and forbidden otherwise",
                "rule": f"(self.type == '{kind}') == has(self.{name})",
            }
            for kind, name in (("Factor", "factor"), ("Quantity", "quantity"))
        ],
    }
)
_CONTAINER_POLICY = _record(
    containerName=_said(TEXT, "The container, or * for containers without a policy of their own."),
    mode=_said(_one_of("Auto", "Off"), "Whether the container is scaled. The default is Auto."),
    minAllowed=_said(AMOUNTS, "The least that is recommended."),
    maxAllowed=_said(AMOUNTS, "The most that is recommended."),
    controlledResources=_said(_list(TEXT), "Resources that are recommended. The default is cpu and memory."),
    controlledValues=_said(
        _one_of(REQUESTS_AND_LIMITS, REQUESTS_ONLY),
        "Whether limits change, too. The default is that they do.",
    ),
    oomBumpUpRatio=_said(QUANTITY, "The factor for memory after the container ran out of it."),
    oomMinBumpUp=_said(QUANTITY, "The least increase of memory after the container ran out of it."),
    memoryAggregationIntervalSeconds=_said(_number(32, 1), "The time of which one memory peak counts."),
    memoryAggregationIntervalCount=_said(_number(64, 1), "The number of such times that count."),
    startupBoost=_said(_BOOST, "CPU for the start of the container."),
)
_SPEC = _record(
    ("targetRef",),
    targetRef=_said(_TARGET, "The controller of the pods."),
    updatePolicy=_said(_UPDATE_POLICY, "The way that changes reach pods."),
    resourcePolicy=_said(_record(containerPolicies=_list(_CONTAINER_POLICY)), "Limits of recommendations."),
    recommenders=_said(_list(_record(("name",), name=TEXT)), "The recommender; none means the default one."),
    startupBoost=_said(_BOOST, "CPU for the start of pods."),
)
_RECOMMENDED = _record(
    ("target",),
    containerName=TEXT,
    target=_said(AMOUNTS, "The recommended requests."),
    lowerBound=_said(AMOUNTS, "Requests below this one are too low."),
    upperBound=_said(AMOUNTS, "Requests above this one are wasted."),
    uncappedTarget=_said(AMOUNTS, "The target without the resource policy."),
)
_CONDITION = _record(
    ("status", "type"),
    type=TEXT,
    status=TEXT,
    lastTransitionTime=TIME,
    reason=TEXT,
    message=TEXT,
    observedGeneration=_number(64, 0),
)
_STATUS = _record(
    conditions=_list(_CONDITION),
    recommendation=_record(containerRecommendations=_list(_RECOMMENDED)),
    observedGeneration=_number(64, 0),
)
_HISTOGRAM = _record(
    bucketWeights={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    referenceTimestamp=NULLABLE_TIME,
    totalWeight={"type": "number"},
)
_CHECKPOINT_STATUS = _record(
    cpuHistogram=_HISTOGRAM,
    memoryHistogram=_HISTOGRAM,
    firstSampleStart=NULLABLE_TIME,
    lastSampleStart=NULLABLE_TIME,
    lastUpdateTime=NULLABLE_TIME,
    totalSamplesCount={"type": "integer"},
    version=TEXT,
)


def _column(name: str, path: str, kind: str = "string", priority: int = 0) -> Schema:
    found: Schema = {"name": name, "type": kind, "jsonPath": path}
    return {**found, "priority": priority} if priority else found


_FIRST = ".status.recommendation.containerRecommendations[0].target"
_COLUMNS = [
    _column("Mode", ".spec.updatePolicy.updateMode"),
    _column("CPU", f"{_FIRST}.cpu"),
    _column("Mem", f"{_FIRST}.memory"),
    _column("Provided", ".status.conditions[?(@.type=='RecommendationProvided')].status"),
    _column("Age", ".metadata.creationTimestamp", "date"),
    _column("MinReplicas", ".spec.updatePolicy.minReplicas", "integer", 1),
    _column("OOMSeconds", ".spec.updatePolicy.evictAfterOOMSeconds", "integer", 1),
]


def _definition(kind: str, short: str, schema: Schema, **version: Any) -> CustomResourceDefinition:
    plural = f"{kind.lower()}s"
    whole = {**schema["properties"], "apiVersion": TEXT, "kind": TEXT, "metadata": {"type": "object"}}
    served = {"name": VERSION, "served": True, "storage": True}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    plain = {
        "metadata": {"name": f"{plural}.{GROUP}", "annotations": APPROVED},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {**names, "shortNames": [short]},
            "versions": [
                {**served, "schema": {"openAPIV3Schema": {**schema, "properties": whole}}, **version}
            ],
        },
    }
    return codec.convert(plain, CustomResourceDefinition, "Strict")[0]


@lru_cache(1)
def autoscaler_definition() -> CustomResourceDefinition:
    """Return the definition of VerticalPodAutoscalers."""
    schema = _said(
        _record(("spec",), spec=_SPEC, status=_STATUS), "Scales the requests of a controller's pods."
    )
    return _definition(KIND, "vpa", schema, subresources={"status": {}}, additionalPrinterColumns=_COLUMNS)


@lru_cache(1)
def checkpoint_definition() -> CustomResourceDefinition:
    """Return the definition of checkpoints, which have no subresources."""
    spec = _record(containerName=TEXT, vpaObjectName=TEXT)
    schema = _said(_record(spec=spec, status=_CHECKPOINT_STATUS), "The recommender's history of a container.")
    return _definition(CHECKPOINT_KIND, "vpacheckpoint", schema)
