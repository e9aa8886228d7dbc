"""Probes of all kinds, readiness gates and lifecycle hooks, good and failing."""

from __future__ import annotations

from tests.support.pod_traces import Step, Story
from tests.support.stories.words import (
    STOPS,
    STUBBORN,
    UNHURRIED,
    UNTIL_STOPPED,
    at,
    container,
    containers_ready,
    nothing,
    patch,
    probe,
    ready,
    restarted,
    status_of,
    waits,
)

STORIES = {
    "starts-up-slowly": Story(
        {
            "containers": [
                container(
                    f"sleep 3; touch /tmp/up; {UNTIL_STOPPED}",
                    startupProbe=probe("test -e /tmp/up || { echo not yet; exit 1; }", failureThreshold=30),
                    livenessProbe=probe("test -e /tmp/up"),
                    readinessProbe=probe("test -e /tmp/up"),
                )
            ]
        },
        {"main": STOPS | {"exec": [{"exitCode": 1, "stdout": "not yet\n"}, {"after": 3}]}},
        (at(ready),),
    ),
    "never-starts-up": Story(
        {
            "containers": [
                container(
                    UNTIL_STOPPED,
                    startupProbe=probe("echo no; exit 1", failureThreshold=2, initialDelaySeconds=2),
                )
            ]
        },
        {"main": STOPS | {"exec": [{"exitCode": 1, "stdout": "no\n"}]}},
        (at(restarted(1)),),
    ),
    "becomes-ready": Story(
        {
            "containers": [
                container(
                    f"sleep 3; touch /tmp/ready; {UNTIL_STOPPED}",
                    readinessProbe=probe("test -e /tmp/ready || { echo not yet; exit 1; }"),
                )
            ]
        },
        {"main": STOPS | {"exec": [{"exitCode": 1, "stdout": "not yet\n"}, {"after": 3}]}},
        (at(ready),),
    ),
    "loses-readiness": Story(
        {
            "containers": [
                # The third probe fails, whenever it comes: on a busy machine two may fall into one span.
                container(
                    UNTIL_STOPPED,
                    readinessProbe=probe(
                        "echo >>/tmp/probes; test $(wc -l </tmp/probes) -ne 3 || { echo busy; exit 1; }",
                        failureThreshold=1,
                    ),
                )
            ]
        },
        {"main": STOPS | {"exec": [{}, {"after": 3, "exitCode": 1, "stdout": "busy\n"}, {"after": 5}]}},
        (Step(ready, nothing), Step(lambda pod: not ready(pod), nothing), at(ready)),
    ),
    "loses-health": Story(
        {
            "containers": [
                container(
                    f"touch /tmp/healthy; sleep 3; rm /tmp/healthy; {STUBBORN}",
                    livenessProbe=probe(
                        "test -e /tmp/healthy || { echo ill; exit 1; }",
                        failureThreshold=2,
                        initialDelaySeconds=2,
                    ),
                )
            ]
        },
        {"main": {"ignoresSignals": True, "exec": [{}, {"after": 3, "exitCode": 1, "stdout": "ill\n"}]}},
        (at(restarted(1)),),
    ),
    "answers-over-http": Story(
        {
            "containers": [
                container(
                    "mkdir /tmp/www; echo well >/tmp/www/health; busybox httpd -p 8080 -h /tmp/www;"
                    f" (sleep 4; rm /tmp/www/health) & {UNTIL_STOPPED}",
                    ports=[{"name": "web", "containerPort": 8080}],
                    readinessProbe={
                        "tcpSocket": {"port": "web"},
                        **UNHURRIED,
                        "initialDelaySeconds": 1,
                    },
                    # Out of step with readiness: no other probe meets the container as this one ends it.
                    livenessProbe={
                        "httpGet": {"port": "web", "path": "/health"},
                        **UNHURRIED,
                        "periodSeconds": 3,
                        "initialDelaySeconds": 1,
                        "failureThreshold": 2,
                    },
                )
            ]
        },
        {
            "main": STOPS
            | {
                "probes": [
                    {"seconds": 0.1},
                    {
                        "kind": "http",
                        "after": 4,
                        "seconds": 0.1,
                        "success": False,
                        "output": "HTTP probe failed with statuscode: 404",
                    },
                ]
            }
        },
        (at(lambda pod: restarted(1)(pod) and ready(pod)),),
    ),
    "gated": Story(
        {
            "readinessGates": [{"conditionType": "example.com/gate"}],
            "containers": [container(UNTIL_STOPPED)],
        },
        {"main": STOPS},
        (
            at(
                containers_ready,
                patch({"status": {"conditions": [{"type": "example.com/gate", "status": "True"}]}}, "status"),
            ),
            at(ready),
        ),
    ),
    "greets": Story(
        {
            "containers": [
                container(
                    UNTIL_STOPPED, lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "sleep 1.5"]}}}
                )
            ]
        },
        {"main": STOPS | {"exec": [{"seconds": 1.5}]}},
        (at(ready),),
    ),
    "hook-fails": Story(
        {
            "containers": [
                container(
                    UNTIL_STOPPED,
                    lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "sleep 1; exit 4"]}}},
                )
            ]
        },
        {"main": STOPS | {"exec": [{"seconds": 1, "exitCode": 4}]}},
        (at(lambda pod: status_of(pod)["restartCount"] == 1 and waits("CrashLoopBackOff")(pod)),),
    ),
    "says-goodbye": Story(
        {
            "terminationGracePeriodSeconds": 10,
            "containers": [
                container(
                    UNTIL_STOPPED, lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "sleep 1.5"]}}}
                )
            ],
        },
        {"main": STOPS | {"exec": [{"seconds": 1.5}]}},
        (at(ready),),
    ),
    "cannot-say-goodbye": Story(
        {
            "terminationGracePeriodSeconds": 10,
            "containers": [
                container(UNTIL_STOPPED, lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "exit 5"]}}})
            ],
        },
        {"main": STOPS | {"exec": [{"exitCode": 5}]}},
        (at(ready),),
    ),
    "goodbye-takes-too-long": Story(
        {
            "terminationGracePeriodSeconds": 2,
            "containers": [
                container(STUBBORN, lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "sleep 60"]}}})
            ],
        },
        {"main": {"ignoresSignals": True, "exec": [{"seconds": 60}]}},
        (at(ready),),
    ),
}
