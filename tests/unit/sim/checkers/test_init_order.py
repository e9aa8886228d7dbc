"""Regular containers that start before the init containers have succeeded are found."""

from __future__ import annotations

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.runtime.base import ContainerEventType
from podling.sim.checkers.init_order import InitOrder
from tests.support.checked import History

STARTED, EXITED = ContainerEventType.STARTED, ContainerEventType.EXITED


@pytest.mark.parametrize(("code", "count"), [(0, 0), (1, 1), (None, 1)])
def test_init_container_succeeds_first(code: int | None, count: int) -> None:
    history = History(InitOrder)
    init = [{"name": "init"}, {"name": "side", "restartPolicy": "Always"}]
    spec = {"initContainers": init, "containers": [{"name": "app"}]}
    history.write(msgspec.convert({"metadata": {"name": "web", "uid": "uid-web"}, "spec": spec}, Pod))
    history.container("n", STARTED, name="init", id="i")
    if code is not None:
        history.container("n", EXITED, name="init", id="i", exit_code=code)
    history.container("n", STARTED)
    text = "app of pod default/web starts before init has succeeded"
    assert history.texts == [text] * count


def test_new_sandbox_begins_anew() -> None:
    history = History(InitOrder)
    spec = {"initContainers": [{"name": "init"}], "containers": [{"name": "app"}]}
    history.write(msgspec.convert({"metadata": {"name": "web", "uid": "uid-web"}, "spec": spec}, Pod))
    history.container("n", EXITED, name="init", id="i", exit_code=0)
    history.container("other", STARTED)
    assert len(history.texts) == 1
