"""The program of a scenario's webhook or aggregated API: it waits as its script says, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling import clock, ids
from podling.apiserver.backends.local_servers import ServerAnswer, ServerRequest
from podling.apiserver.cel.programs import Failure, NotCompiled, OverBudget, Program
from podling.apiserver.cel.types import DYN
from podling.sim.conditions import BUDGET
from podling.sim.servers.scripted_server import VARIABLES, answer_of
from podling.sim.servers.server_scripts import Server


class ScriptedHandler:
    """Answers for one server of a scenario."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._programs = {each.where: compiled(each.where) for each in server.reviews if each.where}

    async def __call__(self, request: ServerRequest) -> ServerAnswer:
        server = self._server
        if server.seconds:
            spread = ids.uniform(1 - server.spread, 1 + server.spread) if server.spread else 1.0
            await clock.sleep_in_request(server.seconds * spread)
        return answer_of(server, request, self._fits)

    def _fits(self, text: str, values: Mapping[str, Any]) -> bool:
        try:
            return self._programs[text].evaluate(values, [BUDGET]) is True
        except (Failure, OverBudget):
            return False


def compiled(text: str) -> Program:
    """Return the program of a review's ``where``. Raises ``NotCompiled``."""
    return Program(text, dict.fromkeys(VARIABLES, DYN))


def where_problem(text: str) -> str:
    """Return what is wrong with a review's ``where``; empty if nothing is."""
    try:
        kind = str(compiled(text).type)
    except NotCompiled as error:
        return str(error)
    return "" if kind in ("bool", "dyn") else f"the expression must be true or false, not {kind}"
