"""Lifecycle hooks: the actions of ``postStart`` and ``preStop``.

Hooks run at least once. ``exec`` has no time limit of its own; ``httpGet`` fails only when no response
comes, its status does not matter; ``sleep`` waits. The API accepts ``tcpSocket`` but never gave it a
meaning, so it fails (``pkg/kubelet/lifecycle/handlers.go``).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from podling import clock
from podling.api.core_v1 import Container, HTTPGetAction, LifecycleHandler, Pod
from podling.kubelet.deps import Recorder
from podling.kubelet.pod_spec import pod_text
from podling.kubelet.ports import UnknownPort
from podling.kubelet.probes.http_action import HTTPFailure, HTTPRequest, http_get, request_for
from podling.kubelet.version import USER_AGENT_VERSION
from podling.runtime.base import AnswersProbes, Runtime, Streams
from podling.runtime.failures import RuntimeFailure

TIMEOUT_SECONDS = 60.0
"""The time limit of an HTTP hook, within the limits of its caller."""


OUTPUT_BYTES_MAX = 16 * 1024
"""The length at which the output of a failed command is cut in the container's status."""


class HookFailure(Exception):
    """The hook failed."""


class HookRunner:
    """Runs hooks in the containers of one runtime."""

    def __init__(self, runtime: Runtime, recorder: Recorder) -> None:
        self._runtime = runtime
        self._recorder = recorder

    async def run(
        self,
        pod: Pod,
        container: Container,
        handler: LifecycleHandler,
        container_id: str,
        pod_ips: tuple[str, ...],
    ) -> None:
        """Run ``handler`` for the container. Raises ``HookFailure`` with a text for the status."""
        if handler.exec is not None:
            what = f"Exec lifecycle hook ([{' '.join(handler.exec.command)}])"
            action = self._exec(container_id, handler.exec.command)
        elif handler.http_get is not None:
            what = f"HTTP lifecycle hook ({handler.http_get.path or ''})"
            action = self._http(pod, container, handler.http_get, container_id, pod_ips)
        elif handler.sleep is not None:
            await clock.sleep(handler.sleep.seconds)
            return
        else:
            raise HookFailure("Cannot run handler: invalid handler: no action that can be run")
        try:
            await action
        except HookFailure as error:
            where = f'for Container "{container.name}" in Pod "{pod_text(pod)}"'
            raise HookFailure(f"{what} {where} failed - error: {error}") from error

    async def _exec(self, container_id: str, command: tuple[str, ...]) -> None:
        output = {"stdout": bytearray(), "stderr": bytearray()}

        def collect(stream: str) -> Callable[[bytes], Awaitable[None]]:
            async def take(chunk: bytes) -> None:
                output[stream].extend(chunk[: OUTPUT_BYTES_MAX - len(output[stream])])

            return take

        try:
            streams = Streams(stdout=collect("stdout"), stderr=collect("stderr"))
            code = await self._runtime.exec(container_id, command, streams)
        except RuntimeFailure as error:
            raise HookFailure(f'{error}, message: ""') from error
        if code != 0:
            out, err = (output[stream].decode(errors="replace") for stream in ("stdout", "stderr"))
            text = f"command '{' '.join(command)}' exited with {code}: {err}"
            raise HookFailure(f"{text}, message: {json.dumps(out + err, ensure_ascii=False)}")

    async def _http(
        self,
        pod: Pod,
        container: Container,
        action: HTTPGetAction,
        container_id: str,
        pod_ips: tuple[str, ...],
    ) -> None:
        try:
            agent = f"kube-lifecycle/{USER_AGENT_VERSION}"
            request = request_for(action, container, pod_ips[0] if pod_ips else "", agent)
        except UnknownPort as error:
            raise HookFailure(str(error)) from error
        if isinstance(self._runtime, AnswersProbes):
            answer = await self._runtime.probe(container_id, "http", request.target)
            if answer is not None:
                if not answer.success:
                    raise HookFailure(answer.output)
                return
        await self._send(pod, request)

    async def _send(self, pod: Pod, request: HTTPRequest) -> None:
        try:
            await http_get(request, TIMEOUT_SECONDS)
        except HTTPFailure as error:
            if not error.plain_http:
                raise HookFailure(str(error)) from error
            try:
                await http_get(request.over_plain_http(), TIMEOUT_SECONDS)
            except (HTTPFailure, TimeoutError) as again:
                raise HookFailure(str(again)) from again
            text = (
                f"request to HTTPS lifecycle hook {request.host} got HTTP response, retry with HTTP succeeded"
            )
            self._recorder.event(pod, "Warning", "LifecycleHTTPFallback", text)
        except TimeoutError as error:
            raise HookFailure("timed out") from error
