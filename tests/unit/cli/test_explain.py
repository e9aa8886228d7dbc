"""The order of explanations of a pod, and several of them in one answer."""

from __future__ import annotations

from tests.support.ailing_pods import BOUND, EARLIER, PROBE, ask, ended, looping, waiting


def test_failures_of_several_containers_are_all_reported() -> None:
    spec = {**BOUND, "containers": [{"name": "main"}, {"name": "other", "readinessProbe": PROBE}]}
    status = looping(ended(3))
    running = {"running": {"startedAt": EARLIER}}
    fixed = {"image": "", "imageID": "", "ready": False, "started": True, "restartCount": 0}
    status["containerStatuses"].append({"name": "other", "state": running, **fixed})
    answer = ask(spec, status)
    assert answer.container == "main"
    assert "Beside that: Container other runs, but is not ready." in answer.text
    assert [source.name for source in answer.evidence] == ["main", "other"]


def test_advice_for_static_pod_names_its_file() -> None:
    annotations = {"kubernetes.io/config.source": "file", "kubernetes.io/config.mirror": "x"}
    answer = ask(BOUND, waiting("ErrImagePull"), annotations=annotations)
    assert answer.advice.startswith("It is a static pod: what you change, change in its file on node one.")
