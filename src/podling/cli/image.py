"""``podling image``: load, pull, list and remove the images of a cluster's nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from podling.cli.common_options import Failure, data_directory_option
from podling.cli.image_access import ImageDoor, images_of
from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryInUse, DirectoryUnusable
from podling.runtime.base import Credentials, RuntimeFailure

T = TypeVar("T")


@click.group()
def image() -> None:
    """Load, pull, list and remove images."""


@image.command("load")
@data_directory_option
@click.argument(
    "archives", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "-t", "--tag", "tags", multiple=True, help="Name the archive's only image so, not by its own tags."
)
def load(directory: DataDirectory, archives: tuple[Path, ...], tags: tuple[str, ...]) -> None:
    """Take in docker or OCI archives (tar files)."""

    async def load_all(door: ImageDoor) -> None:
        for archive in archives:
            for found in await door.load(archive.absolute(), tags):
                click.echo(f"Loaded {', '.join(found.tags) or found.id}")

    _with_images(directory, load_all)


@image.command("pull")
@data_directory_option
@click.argument("name")
@click.option("--username", default="", help="Log in to the registry as this user.")
@click.option(
    "--password", default="", envvar="PODLING_REGISTRY_PASSWORD", help="[env: PODLING_REGISTRY_PASSWORD]"
)
def pull(directory: DataDirectory, name: str, username: str, password: str) -> None:
    """Fetch an image from its registry."""
    login = (Credentials(username=username, password=password),) if username else ()
    found = _with_images(directory, lambda door: door.pull(name, login))
    click.echo(f"Pulled {name}: {', '.join(found.digests) or found.id}")


@image.command("list")
@data_directory_option
def list_images(directory: DataDirectory) -> None:
    """List the images that are here."""
    found = _with_images(directory, lambda door: door.list_images())
    rows = [
        (name, image.id.removeprefix("sha256:")[:12], size(image.size_bytes))
        for image in found
        for name in image.tags or image.digests or ("<none>",)
    ]
    table = [("IMAGE", "ID", "SIZE"), *sorted(rows)]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    for row in table:
        click.echo("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@image.command("remove")
@data_directory_option
@click.argument("names", nargs=-1, required=True)
def remove(directory: DataDirectory, names: tuple[str, ...]) -> None:
    """Remove tags, and images with their last one."""

    async def remove_all(door: ImageDoor) -> None:
        for name in names:
            await door.remove_image(name)
            click.echo(f"Removed {name}")

    _with_images(directory, remove_all)


def size(count: int) -> str:
    """Bytes as people read them: ``4.2 MB``."""
    if count < 1000:
        return f"{count} B"
    amount = count / 1000
    for unit in ("kB", "MB"):
        if amount < 1000:
            return f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def _with_images(directory: DataDirectory, use: Callable[[ImageDoor], Awaitable[T]]) -> T:
    async def call() -> T:
        async with images_of(directory) as door:
            return await use(door)

    try:
        return asyncio.run(call())
    except (RuntimeFailure, OSError, DirectoryInUse, DirectoryUnusable) as error:
        raise Failure(str(error)) from error
