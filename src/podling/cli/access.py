"""``podling kubeconfig`` and ``podling token``: ways in for an administrator.

A token is a service account's, made by the API server itself and bound by its own rules: it expires, and
deleting the service account ``kube-system/podling-admin`` revokes every one of them.
"""

from __future__ import annotations

import asyncio
import re

import click

from podling.cli.common_options import Failure, data_directory_option, require_running
from podling.client.base import Client
from podling.client.http import HttpClient
from podling.cluster.directory import DataDirectory
from podling.machinery.errors import ApiError, is_already_exists

ADMINISTRATOR = "podling-admin"
NAMESPACE = "kube-system"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@click.command()
@data_directory_option
@click.option("--path", is_flag=True, help="Print where the file is instead of what it says.")
def kubeconfig(directory: DataDirectory, path: bool) -> None:
    """Print the administrator's kubeconfig."""
    if not directory.kubeconfig.exists():
        raise Failure(
            f"there is no cluster at {directory.path}; start one: podling up --data-dir {directory.path}"
        )
    click.echo(directory.kubeconfig if path else directory.kubeconfig.read_text(), nl=path)


@click.group()
def token() -> None:
    """Make bearer tokens."""


@token.command("create")
@data_directory_option
@click.option("--duration", default="24h", show_default=True, help="How long it is good: 30m, 12h, 7d ...")
def create(directory: DataDirectory, duration: str) -> None:
    """Print a bearer token of an administrator."""
    require_running(directory)
    seconds = parse_duration(duration)
    try:
        click.echo(asyncio.run(_create(directory, seconds)))
    except ApiError as error:
        raise Failure(str(error)) from error


def parse_duration(text: str) -> int:
    """``90s``, ``30m``, ``12h``, ``7d`` in seconds. Raises ``Failure``."""
    match = re.fullmatch(r"(\d+)([smhd])", text)
    if not match:
        raise Failure(f"not a duration: {text!r}; write a number and s, m, h or d, such as 12h")
    return int(match[1]) * SECONDS[match[2]]


async def _create(directory: DataDirectory, seconds: int) -> str:
    from podling.api.authentication_v1 import TokenRequest, TokenRequestSpec
    from podling.api.core_v1 import ServiceAccount

    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        await _ensure_administrator(client)
        wanted = TokenRequest(spec=TokenRequestSpec(expiration_seconds=seconds))
        made = await client.create_subresource(ServiceAccount, ADMINISTRATOR, "token", wanted, NAMESPACE)
    finally:
        await client.close()
    if not isinstance(made, TokenRequest) or not made.status.token:
        raise Failure("the API server answered a token request without a token")
    return made.status.token


async def _ensure_administrator(client: Client) -> None:
    """The service account behind the tokens, and its right to do everything."""
    from podling.api.core_v1 import ServiceAccount
    from podling.api.meta_v1 import ObjectMeta
    from podling.api.rbac_v1 import ClusterRoleBinding, RoleRef, Subject

    metadata = ObjectMeta(name=ADMINISTRATOR, namespace=NAMESPACE)
    role = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="cluster-admin")
    subject = Subject(kind="ServiceAccount", name=ADMINISTRATOR, namespace=NAMESPACE)
    binding = ClusterRoleBinding(metadata=ObjectMeta(name=ADMINISTRATOR), role_ref=role, subjects=(subject,))
    for obj in (ServiceAccount(metadata=metadata), binding):
        try:
            await client.create(obj, namespace=obj.metadata.namespace)
        except ApiError as error:
            if not is_already_exists(error):
                raise
