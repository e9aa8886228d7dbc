"""Registry logins for image pulls: from the pod's ``imagePullSecrets`` first, then from the node's own file.

Image registry and path select the entries. An entry's key may hold a path, and ``*`` for one whole part of
the host name; longer keys come first (``pkg/credentialprovider/keyring.go``).
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from podling.api.core_v1 import Pod, Secret
from podling.client.base import Unreachable
from podling.kubelet.blocking import blocking
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.failures import MissingReference
from podling.kubelet.references import References
from podling.runtime.image_service import Credentials

logger = logging.getLogger(__name__)

DOCKER_HUB = "docker.io"
_HUB_NAMES = ("index.docker.io", "registry-1.docker.io", "docker.io")


def registry_logins(config: Mapping[str, Any]) -> dict[str, Credentials]:
    """Return the logins of a docker ``config.json`` (or ``.dockercfg``, which has no ``auths``), by key."""
    entries = config.get("auths", config)
    if not isinstance(entries, Mapping):
        return {}
    found = {}
    for key, entry in entries.items():
        login = _login(entry) if isinstance(entry, Mapping) else None
        if login is not None:
            found[_normalized_key(str(key))] = login
    return found


def _login(entry: Mapping[str, Any]) -> Credentials | None:
    username, password = str(entry.get("username", "")), str(entry.get("password", ""))
    if entry.get("auth"):
        try:
            username, _, password = base64.b64decode(str(entry["auth"])).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
    token = str(entry.get("identitytoken", ""))
    if not (username or password or token):
        return None
    return Credentials(username=username, password=password, identity_token=token)


def _normalized_key(key: str) -> str:
    """Return ``docker.io`` for Docker Hub's names; other keys lose their scheme and version path."""
    key = key.partition("://")[2] or key
    key = key.rstrip("/")
    for suffix in ("/v1", "/v2"):
        key = key.removesuffix(suffix)
    return DOCKER_HUB if key in _HUB_NAMES else key


def _repository(image: str) -> str:
    """Return the full repository of an image: ``busybox:1`` is ``docker.io/library/busybox``."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    name = f"{head}{slash}{last.partition(':')[0]}"
    first = name.partition("/")[0]
    if "/" not in name:
        return f"{DOCKER_HUB}/library/{name}"
    return name if "." in first or ":" in first or first == "localhost" else f"{DOCKER_HUB}/{name}"


def logins_for(image: str, logins: Mapping[str, Credentials]) -> tuple[Credentials, ...]:
    """Return those of ``logins`` that may serve ``image``, the most specific first."""
    repository = _repository(image)
    keys = [key for key in logins if _serves(key, repository)]
    return tuple(logins[key] for key in sorted(keys, key=lambda key: (-len(key), key)))


def _serves(key: str, repository: str) -> bool:
    host, _, path = key.partition("/")
    image_host, _, image_path = repository.partition("/")
    parts, image_parts = host.split("."), image_host.split(".")
    if len(parts) != len(image_parts):
        return False
    if not all(fnmatchcase(image, part) for part, image in zip(parts, image_parts, strict=True)):
        return False
    return not path or image_path == path or image_path.startswith(f"{path}/")


class Keyring:
    """Finds the logins for one pod's image."""

    def __init__(self, deps: KubeletDeps) -> None:
        self._deps = deps
        self._references = References(deps.client)

    async def credentials(self, pod: Pod, image: str) -> tuple[Credentials, ...]:
        """Return the logins to try, in order. Missing secrets are reported in one event and skipped."""
        found: list[Credentials] = []
        missing: list[str] = []
        for reference in pod.spec.image_pull_secrets:
            name = reference.name or ""
            try:
                secret = await self._references.secret(pod.metadata.namespace or "", name)
            except (MissingReference, Unreachable):
                missing.append(name)
                continue
            if secret is not None:
                found += logins_for(image, _secret_logins(secret))
        if missing:
            self._deps.recorder.event(
                pod,
                "Warning",
                "FailedToRetrieveImagePullSecret",
                f"Unable to retrieve some image pull secrets ({', '.join(missing)}); attempting to pull "
                "the image may not succeed.",
            )
        found += logins_for(image, await self._node_logins())
        return tuple(dict.fromkeys(found))

    async def credentials_in(self, secrets: Sequence[Secret], image: str) -> tuple[Credentials, ...]:
        """Return the logins to try for an image that no pod wants, those of ``secrets`` first."""
        found = [login for secret in secrets for login in logins_for(image, _secret_logins(secret))]
        found += logins_for(image, await self._node_logins())
        return tuple(dict.fromkeys(found))

    async def _node_logins(self) -> dict[str, Credentials]:
        path = self._deps.config.docker_config
        if path is None:
            return {}
        try:
            return registry_logins(json.loads(await blocking(path.read_bytes)))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            logger.warning("the node's registry logins cannot be read: %s", error)
            return {}


def _secret_logins(secret: Secret) -> dict[str, Credentials]:
    key = ".dockercfg" if secret.type == "kubernetes.io/dockercfg" else ".dockerconfigjson"
    try:
        return registry_logins(json.loads(base64.b64decode(secret.data.get(key, ""))))
    except (binascii.Error, ValueError) as error:
        logger.warning("secret %s holds no registry logins: %s", secret.metadata.name, error)
        return {}
