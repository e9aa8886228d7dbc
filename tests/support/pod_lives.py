"""Records of a cluster's pods: ``Recorder`` watches them all and keeps each status.

``normal`` and ``aspects`` replace the parts that differ from run to run (times, ids, addresses) by names.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from podling import clock
from tests.support.clusters import RealCluster

Plain = dict[str, Any]

NORMAL = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "<id>"),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+\b"), "<ip>"),
    (re.compile(r"\b\d+(\.\d+)?(ms|us|s|m)\b"), "<time>"),
)


def normal(text: str) -> str:
    """Return ``text`` without the parts that differ from run to run."""
    for pattern, name in NORMAL:
        text = pattern.sub(name, text)
    return text.strip()


def _state(state: Plain) -> str:
    for kind, detail in state.items():
        words = [kind, detail.get("reason", "")]
        words += [f"exit {detail['exitCode']}"] if "exitCode" in detail else []
        words += [f"({normal(detail['message'])})"] if detail.get("message") else []
        return " ".join(word for word in words if word)
    return "none"


def aspects(pod: Plain) -> dict[str, str]:
    """Return the parts of a status that should be the same in every run, by aspect."""
    status = pod.get("status", {})
    found = {"phase": " ".join(filter(None, (status.get("phase"), status.get("reason"))))}
    found["deleted"] = str("deletionTimestamp" in pod["metadata"])
    for condition in status.get("conditions", ()):
        words = (condition["status"], condition.get("reason"), normal(condition.get("message", "")))
        found[f"condition {condition['type']}"] = " ".join(word for word in words if word)
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        name = container["name"]
        found[f"{name} state"] = _state(container["state"])
        found[f"{name} last state"] = _state(container.get("lastState", {}))
        found[f"{name} restarts"] = str(container["restartCount"])
        found[f"{name} ready"] = str(container["ready"])
        found[f"{name} started"] = str(container.get("started"))
    return found


class Recorder:
    """Watches the pods of a cluster until ``finish``, in a thread of its own."""

    def __init__(self, cluster: RealCluster, act: Callable[[str, Plain], None]) -> None:
        """``act`` is called with every revision of a pod; ``seen`` holds the revisions, by pod."""
        self.seen: dict[str, list[tuple[float, Plain]]] = {}
        self.changed = threading.Condition()
        self.gone: set[str] = set()
        self._act = act
        self._watch = subprocess.Popen(
            cluster.kubectl_command("get", "pods", "--watch", "--output-watch-events", "-o", "json"),
            stdout=subprocess.PIPE,
            text=True,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._watch.stdout is not None
        for line in self._watch.stdout:
            event = json.loads(line)
            pod = event["object"]
            name = pod["metadata"]["name"]
            with self.changed:
                if event["type"] == "DELETED":
                    self.gone.add(name)
                self.seen.setdefault(name, []).append((clock.monotonic(), pod))
                self.changed.notify_all()
            if event["type"] != "DELETED":
                self._act(name, pod)

    def wait(self, happened: Callable[[], bool], seconds: float) -> bool:
        """Return whether ``happened`` became true within ``seconds``; check it at every event."""
        with self.changed:
            return self.changed.wait_for(happened, seconds)

    def finish(self) -> None:
        self._watch.terminate()
        self._thread.join(10)
        self._watch.wait(10)
        assert self._watch.stdout is not None
        self._watch.stdout.close()

    def life(self, name: str) -> list[str]:
        """Return a pod's statuses, one line for every change."""
        before: dict[str, str] = {}
        lines = []
        for _, pod in self.seen.get(name, ()):
            now = aspects(pod)
            changed = [f"{about}: {text}" for about, text in now.items() if before.get(about) != text]
            if changed:
                lines.append("; ".join(changed))
            before = now
        return lines
