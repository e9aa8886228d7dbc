"""Tokens in Secrets: for Secrets of the type ``kubernetes.io/service-account-token``.

Pods get their tokens from their kubelet; this is the older way, still used by programs outside the
cluster. A Secret that names an account gets a token bound to the Secret itself (so that deleting it ends
the token), the root certificate and its namespace; when the account goes, so does the Secret.

Upstream: ``pkg/controller/serviceaccount/tokens_controller.go``. Theirs never expire; ours do, after 136
years.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import ClassVar

from msgspec import structs

from podling.api.authentication_v1 import BoundObjectReference, TokenRequest, TokenRequestSpec
from podling.api.core_v1 import Secret, ServiceAccount
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import unless_gone
from podling.machinery.tokens.legacy_tokens import ACCOUNT_NAME, ACCOUNT_UID, SECRET_TYPE

SECONDS_MAX = 1 << 32
BY_ACCOUNT = "service account"


def account_of(secret: Secret) -> Iterable[str]:
    """Return an index of token Secrets by ``<namespace>/<account>``."""
    name = secret.metadata.annotations.get(ACCOUNT_NAME)
    return (f"{secret.metadata.namespace}/{name}",) if secret.type == SECRET_TYPE and name else ()


def is_filled(secret: Secret, root_ca: str) -> bool:
    """Return whether a Secret has a token and a namespace, and the root certificate of today."""
    has_both = bool(secret.data.get("token") and secret.data.get("namespace"))
    return has_both and secret.data.get("ca.crt") == _encoded(root_ca)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class ServiceAccountTokensController(Controller):
    """The keys are Secrets.

    Args:
        certificate: the root certificate, PEM.
    """

    name: ClassVar[str] = "serviceaccount-token-controller"

    def __init__(self, context: ControllerContext, certificate: str) -> None:
        super().__init__(context)
        self._root_ca = certificate
        self._secrets = context.informers.informer(Secret)
        self._accounts = context.informers.informer(ServiceAccount)
        self._secrets.add_indexer(BY_ACCOUNT, account_of)
        self._removed: dict[Key, Secret] = {}
        self._secrets.add_handler(self._look, lambda old, new: self._look(new), self._secret_gone)
        self._accounts.add_handler(self._account_changed, on_delete=self._account_changed)

    def _look(self, secret: Secret) -> None:
        if secret.type == SECRET_TYPE:
            self.enqueue(secret)

    def _secret_gone(self, secret: Secret) -> None:
        if secret.type == SECRET_TYPE and secret.metadata.annotations.get(ACCOUNT_NAME):
            self._removed[key_of(secret)] = secret
            self.enqueue(secret)

    def _account_changed(self, account: ServiceAccount) -> None:
        for secret in self._secrets.by_index(
            BY_ACCOUNT, f"{account.metadata.namespace}/{account.metadata.name}"
        ):
            self.enqueue(secret)

    async def reconcile(self, key: Key) -> AwaitChange:
        secret = self._secrets.get(key)
        if secret is None and key in self._removed:
            await self._remove_reference(self._removed[key])
        self._removed.pop(key, None)
        if secret is None or secret.metadata.deletion_timestamp is not None:
            return AwaitChange()
        name = secret.metadata.annotations.get(ACCOUNT_NAME)
        if secret.type != SECRET_TYPE or not name:
            return AwaitChange()
        uid = secret.metadata.annotations.get(ACCOUNT_UID, "")
        account = await self._account(Key(key.namespace, name), uid)
        if account is None:
            await self._delete(secret)
        elif not is_filled(secret, self._root_ca):
            await self._fill(secret, account)
        return AwaitChange()

    async def _account(self, key: Key, uid: str) -> ServiceAccount | None:
        """Return the account, with this UID if one is given.

        It is read from the server if the informer has none or another one: a Secret is deleted for it.
        """
        held = self._accounts.get(key)
        if held is not None and uid in ("", held.metadata.uid):
            return held
        with unless_gone():
            account = await self.client.get(ServiceAccount, key.name, key.namespace)
            if uid in ("", account.metadata.uid):
                return account
        return None

    async def _remove_reference(self, secret: Secret) -> None:
        """Remove a Secret that is gone from the list of its account, read from the server."""
        annotations, name = secret.metadata.annotations, secret.metadata.name
        key = Key(secret.metadata.namespace or "", annotations[ACCOUNT_NAME])
        if self._accounts.get(key) is None:
            return
        with unless_gone():
            account = await self.client.get(ServiceAccount, key.name, key.namespace)
            left = tuple(each for each in account.secrets if each.name != name)
            is_same = annotations.get(ACCOUNT_UID, "") in ("", account.metadata.uid)
            if is_same and left != account.secrets:
                await self.client.update(structs.replace(account, secrets=left))

    async def _fill(self, secret: Secret, account: ServiceAccount) -> None:
        token = secret.data.get("token") or _encoded(await self._token(secret, account))
        namespace = secret.metadata.namespace or ""
        held = secret.data.get("namespace") or _encoded(namespace)
        data = {"ca.crt": _encoded(self._root_ca), "namespace": held, "token": token}
        annotations = {**secret.metadata.annotations, ACCOUNT_UID: account.metadata.uid or ""}
        metadata = structs.replace(secret.metadata, annotations=annotations)
        await self.client.update(structs.replace(secret, metadata=metadata, data={**secret.data, **data}))

    async def _token(self, secret: Secret, account: ServiceAccount) -> str:
        bound = BoundObjectReference(
            api_version="v1", kind="Secret", name=secret.metadata.name, uid=secret.metadata.uid
        )
        spec = TokenRequestSpec(expiration_seconds=SECONDS_MAX, bound_object_ref=bound)
        answer = await self.client.create_subresource(
            ServiceAccount,
            account.metadata.name or "",
            "token",
            TokenRequest(spec=spec),
            account.metadata.namespace,
        )
        assert isinstance(answer, TokenRequest)
        return answer.status.token or ""

    async def _delete(self, secret: Secret) -> None:
        metadata = secret.metadata
        with unless_gone():
            await self.client.delete(
                Secret,
                metadata.name or "",
                metadata.namespace,
                uid=metadata.uid or "",
                resource_version=metadata.resource_version or "",
            )
