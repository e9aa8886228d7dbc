"""Changes of a running pod: its image, resources, containers, its sandbox."""

from __future__ import annotations

from tests.support.pod_traces import Story
from tests.support.stories.words import (
    IMAGE,
    STOPS,
    UNTIL_STOPPED,
    at,
    container,
    ended,
    lives,
    lose_sandbox,
    over,
    patch,
    ready,
    restarted,
    status_of,
)

STORIES = {
    "debugged": Story(
        {"containers": [container(UNTIL_STOPPED)]},
        {"main": STOPS, "debugger": {"runs": [lives(1.5, 6)]}},
        (
            at(
                ready,
                patch(
                    {"spec": {"ephemeralContainers": [container("sleep 1.5; exit 6", "debugger")]}},
                    "ephemeralcontainers",
                ),
            ),
            at(ended("debugger")),
        ),
    ),
    "gets-another-image": Story(
        {"containers": [container(UNTIL_STOPPED)]},
        {"main": STOPS},
        (
            at(ready, patch({"spec": {"containers": [{"name": "main", "image": IMAGE + ":latest"}]}})),
            at(restarted(1)),
        ),
    ),
    "grows": Story(
        {
            "containers": [
                container(
                    UNTIL_STOPPED,
                    resources={
                        "requests": {"cpu": "10m", "memory": "32Mi"},
                        "limits": {"cpu": "100m", "memory": "64Mi"},
                    },
                )
            ]
        },
        {"main": STOPS},
        (
            at(
                ready,
                patch(
                    {"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "200m"}}}]}},
                    "resize",
                ),
            ),
            at(lambda pod: status_of(pod).get("resources", {}).get("limits", {}).get("cpu") == "200m"),
        ),
    ),
    "restarts-by-a-rule": Story(
        {
            "restartPolicy": "Never",
            "containers": [
                container(
                    "sleep 1.5; test -e /state/again && exit 1; touch /state/again; exit 42",
                    restartPolicy="Never",
                    restartPolicyRules=[
                        {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
                    ],
                    volumeMounts=[{"name": "state", "mountPath": "/state"}],
                )
            ],
            "volumes": [{"name": "state", "emptyDir": {}}],
        },
        {"main": {"runs": [lives(1.5, 42), lives(1.5, 1)]}},
        (at(over),),
    ),
    "restarts-in-whole": Story(
        {
            "restartPolicy": "Never",
            "initContainers": [container("sleep 1.5", "first")],
            "containers": [
                container(
                    "sleep 2; test -e /state/again && exit 0; touch /state/again; exit 42",
                    restartPolicy="Never",
                    restartPolicyRules=[
                        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
                    ],
                    volumeMounts=[{"name": "state", "mountPath": "/state"}],
                ),
            ],
            "volumes": [{"name": "state", "emptyDir": {}}],
        },
        {"first": {"runs": [lives(1.5)]}, "main": {"runs": [lives(2, 42), lives(2)]}},
        (at(over),),
    ),
    "loses-its-sandbox": Story(
        {"shareProcessNamespace": True, "containers": [container(UNTIL_STOPPED)]},
        {"main": STOPS},
        (at(ready, lose_sandbox), at(restarted(1))),
    ),
}
