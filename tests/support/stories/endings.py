"""Endings: regular exits, crashes, limits, and all forms of deletion."""

from __future__ import annotations

from tests.support.pod_traces import Story
from tests.support.stories.words import (
    STOPS,
    STUBBORN,
    UNTIL_STOPPED,
    at,
    container,
    delete_by_force,
    delete_sooner,
    evict,
    lives,
    over,
    ready,
    restarted,
)

STORIES = {
    "completes": Story(
        {"restartPolicy": "Never", "containers": [container("sleep 2")]},
        {"main": {"runs": [lives(2)]}},
        (at(over),),
    ),
    "fails": Story(
        {"restartPolicy": "Never", "containers": [container("sleep 2; exit 3")]},
        {"main": {"runs": [lives(2, 3)]}},
        (at(over),),
    ),
    "one-of-two-fails": Story(
        {
            "restartPolicy": "Never",
            "containers": [container("sleep 2; exit 3"), container("sleep 4", "other")],
        },
        {"main": {"runs": [lives(2, 3)]}, "other": {"runs": [lives(4)]}},
        (at(over),),
    ),
    "crashes": Story(
        {"containers": [container("trap 'exit 7' TERM; sleep 2 & wait; exit 1")]},
        {"main": {"runs": [lives(2, 1)], "stopExitCode": 7}},
        (at(restarted(2)),),
    ),
    "fails-then-succeeds": Story(
        {
            "restartPolicy": "OnFailure",
            "containers": [
                container(
                    "sleep 1.5; test -e /state/again || { touch /state/again; exit 5; }",
                    volumeMounts=[{"name": "state", "mountPath": "/state"}],
                )
            ],
            "volumes": [{"name": "state", "emptyDir": {}}],
        },
        {"main": {"runs": [lives(1.5, 5), lives(1.5)]}},
        (at(over),),
    ),
    "ignores-the-signal": Story(
        {"containers": [container(STUBBORN)]}, {"main": {"ignoresSignals": True}}, (at(ready),)
    ),
    "ends-with-the-signals-code": Story(
        {"containers": [container("trap 'exit 9' TERM; while :; do sleep 0.1; done")]},
        {"main": {"stopExitCode": 9, "stopSeconds": 0.1}},
        (at(ready),),
    ),
    "deleted-by-force": Story(
        {"containers": [container(UNTIL_STOPPED)]}, {"main": STOPS}, (at(ready, delete_by_force),)
    ),
    "evicted": Story({"containers": [container(UNTIL_STOPPED)]}, {"main": STOPS}, (at(ready, evict),)),
    "has-its-time": Story(
        {"activeDeadlineSeconds": 3, "containers": [container(UNTIL_STOPPED)]}, {"main": STOPS}, (at(over),)
    ),
    "leaves-a-message": Story(
        {
            "restartPolicy": "Never",
            "containers": [container("sleep 1.5; echo the last word >/dev/termination-log; exit 1")],
        },
        {"main": {"runs": [lives(1.5, 1) | {"message": "the last word\n"}]}},
        (at(over),),
    ),
    "needs-too-much-memory": Story(
        {
            "restartPolicy": "Never",
            "containers": [
                container(
                    "sleep 1.5; tail /dev/zero",
                    resources={"limits": {"memory": "32Mi"}},
                )
            ],
        },
        {"main": {"runs": [{"seconds": 1.5, "outOfMemory": True}]}},
        (at(over),),
    ),
    "last-words-in-the-log": Story(
        {
            "restartPolicy": "Never",
            "containers": [
                container(
                    "sleep 1.5; echo out of ideas; exit 1", terminationMessagePolicy="FallbackToLogsOnError"
                )
            ],
        },
        {"main": {"runs": [lives(1.5, 1)], "logs": [{"text": "out of ideas", "after": 1.4}]}},
        (at(over),),
    ),
    "is-hurried": Story(
        {"terminationGracePeriodSeconds": 60, "containers": [container(STUBBORN)]},
        {"main": {"ignoresSignals": True}},
        (at(ready), at(lambda pod: "deletionTimestamp" in pod["metadata"], delete_sooner)),
    ),
}
