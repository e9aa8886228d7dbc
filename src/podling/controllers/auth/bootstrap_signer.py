"""Signatures of the cluster's public information, one for each bootstrap token that may sign.

They change with the tokens and with the information, so a token that was deleted or has expired vouches for
nothing any more. kube-controller-manager runs this controller only where it is named; kubeadm names it.
Upstream: ``pkg/controller/bootstrap/bootstrapsigner.go``.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.core_v1 import ConfigMap, Secret
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.machinery import cluster_info
from podling.machinery.errors import unless_gone
from podling.machinery.tokens import bootstrap_tokens

INFORMATION = Key(cluster_info.NAMESPACE, cluster_info.NAME)


class BootstrapSignerController(Controller):
    """One key: the ConfigMap with the information."""

    name: ClassVar[str] = "bootstrap-signer-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._maps = context.informers.informer(ConfigMap)
        self._secrets = context.informers.informer(Secret)
        self._maps.add_handler(self._map_changed, lambda old, new: self._map_changed(new))
        self._secrets.add_handler(
            self._secret_changed, lambda old, new: self._secret_changed(new), self._secret_changed
        )

    def _map_changed(self, found: ConfigMap) -> None:
        if (found.metadata.namespace, found.metadata.name) == (INFORMATION.namespace, INFORMATION.name):
            self.queue.add(INFORMATION)

    def _secret_changed(self, secret: Secret) -> None:
        if is_bootstrap_token(secret):
            self.queue.add(INFORMATION)

    async def reconcile(self, key: Key) -> AwaitChange:
        held = self._maps.get(key)
        text = held.data.get(cluster_info.KUBECONFIG_KEY) if held is not None else None
        if held is None or text is None:
            return AwaitChange()
        secrets = {
            each.metadata.name or "": each for each in self._secrets.values() if is_bootstrap_token(each)
        }
        tokens = bootstrap_tokens.signing_tokens(secrets, clock.now())
        kept = {
            name: entry
            for name, entry in held.data.items()
            if not name.startswith(cluster_info.SIGNATURE_PREFIX)
        }
        signatures = {
            f"{cluster_info.SIGNATURE_PREFIX}{each.id}": cluster_info.signature(text, each)
            for each in tokens.values()
        }
        data = {**kept, **signatures}
        if data != held.data:
            with unless_gone():
                await self.client.update(structs.replace(held, data=data))
        return AwaitChange()


def is_bootstrap_token(secret: Secret) -> bool:
    """Return whether a Secret holds a bootstrap token of this cluster."""
    return (
        secret.type == bootstrap_tokens.SECRET_TYPE
        and secret.metadata.namespace == bootstrap_tokens.NAMESPACE
    )
