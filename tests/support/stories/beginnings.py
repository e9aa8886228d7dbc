"""Beginnings: scheduling, images, init containers and sidecars, and failures to start a container."""

from __future__ import annotations

from tests.support.pod_traces import Story
from tests.support.stories.words import (
    ENDS_SLOWLY,
    IMAGE,
    STOPS,
    UNTIL_STOPPED,
    at,
    condition,
    container,
    lives,
    over,
    patch,
    probe,
    ready,
    status_of,
    waits,
)

OUT_OF_REACH = "127.0.0.1:1/nobody/listens:1"
NO_SUCH_PROGRAM = 'exec: "/none": stat /none: no such file or directory'

STORIES = {
    "waits-at-the-gate": Story(
        {"schedulingGates": [{"name": "example.com/wait"}], "containers": [container(UNTIL_STOPPED)]},
        {"main": STOPS},
        (
            at(
                lambda pod: condition(pod, "PodScheduled") == "False",
                patch({"spec": {"schedulingGates": [{"$patch": "delete", "name": "example.com/wait"}]}}),
            ),
            at(ready),
        ),
    ),
    "fits-nowhere": Story(
        {"nodeSelector": {"no": "such"}, "containers": [container("true")]},
        {},
        (at(lambda pod: condition(pod, "PodScheduled") == "False"),),
    ),
    "image-missing": Story(
        {"containers": [container("true", image="gone.example/none:1", imagePullPolicy="Never")]},
        {},
        (at(waits("ErrImageNeverPull"), after=2),),
    ),
    "image-out-of-reach": Story(
        {"containers": [container("true", image=OUT_OF_REACH)]},
        {},
        (at(waits("ImagePullBackOff")),),
    ),
    "image-without-a-name": Story(
        {"containers": [container("true", image="Not A Name")]}, {}, (at(waits("InvalidImageName"), after=2),)
    ),
    "lacks-its-configuration": Story(
        {
            "containers": [
                container(
                    "true",
                    env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "a"}}}],
                )
            ]
        },
        {},
        (at(waits("CreateContainerConfigError"), after=2),),
    ),
    "cannot-start": Story(
        {
            "containers": [
                {"name": "main", "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["/none"]}
            ]
        },
        {"main": {"startError": NO_SUCH_PROGRAM}},
        (at(lambda pod: status_of(pod)["restartCount"] == 1 and waits("CrashLoopBackOff")(pod)),),
    ),
    "init": Story(
        {
            "initContainers": [container("sleep 1.5", "first"), container("sleep 1.5", "second")],
            "containers": [container(UNTIL_STOPPED)],
        },
        {"first": {"runs": [lives(1.5)]}, "second": {"runs": [lives(1.5)]}, "main": STOPS},
        (at(ready),),
    ),
    "init-fails-for-good": Story(
        {
            "restartPolicy": "Never",
            "initContainers": [container("sleep 1.5; exit 2", "first"), container("true", "second")],
            "containers": [container(UNTIL_STOPPED)],
        },
        {"first": {"runs": [lives(1.5, 2)]}},
        (at(over),),
    ),
    "init-fails-once": Story(
        {
            "initContainers": [
                container(
                    "sleep 1.5; test -e /state/again || { touch /state/again; exit 2; }",
                    "first",
                    volumeMounts=[{"name": "state", "mountPath": "/state"}],
                )
            ],
            "containers": [container(UNTIL_STOPPED)],
            "volumes": [{"name": "state", "emptyDir": {}}],
        },
        {"first": {"runs": [lives(1.5, 2), lives(1.5)]}, "main": STOPS},
        (at(ready),),
    ),
    "deleted-while-it-initializes": Story(
        {"initContainers": [container(UNTIL_STOPPED, "first")], "containers": [container(UNTIL_STOPPED)]},
        {"first": STOPS, "main": STOPS},
        (at(lambda pod: "running" in status_of(pod, "first")["state"]),),
    ),
    "sidecar": Story(
        {
            "restartPolicy": "Never",
            "initContainers": [
                container(
                    f"sleep 1; touch /tmp/up; {UNTIL_STOPPED}",
                    "side",
                    restartPolicy="Always",
                    startupProbe=probe("test -e /tmp/up", initialDelaySeconds=2),
                )
            ],
            "containers": [container("sleep 2")],
        },
        {"side": STOPS, "main": {"runs": [lives(2)]}},
        (at(over),),
    ),
    "sidecar-crashes": Story(
        {
            "restartPolicy": "Never",
            "initContainers": [container("sleep 1.5; exit 1", "side", restartPolicy="Always")],
            "containers": [container("sleep 8")],
        },
        {"side": {"runs": [lives(1.5, 1)]}, "main": {"runs": [lives(8)]}},
        (at(over),),
    ),
    "sidecars-end-in-reverse": Story(
        {
            "terminationGracePeriodSeconds": 20,
            "initContainers": [
                container(ENDS_SLOWLY, "one", restartPolicy="Always"),
                container(ENDS_SLOWLY, "two", restartPolicy="Always"),
            ],
            "containers": [container(ENDS_SLOWLY)],
        },
        {name: {"stopExitCode": 0, "stopSeconds": 1.2} for name in ("one", "two", "main")},
        (at(ready),),
    ),
}
