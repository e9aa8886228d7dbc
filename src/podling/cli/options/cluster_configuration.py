"""``podling up --config``: one file for a cluster, in place of options.

    apiVersion: podling.dev/v1alpha1
    kind: ClusterConfiguration
    nodes: 2
    nodeMonitorGracePeriod: 40s
    featureGates: {CustomCPUCFSQuotaPeriod: true}
    kubeletConfiguration:
      maxPods: 20
    schedulerConfiguration:
      podMaxBackoffSeconds: 30
    admissionConfiguration:
      plugins: [{name: PodSecurity, path: pod-security.yaml}]

Each option of ``podling up`` is a field, in camel case. A field has the effect of its option, and an option
on the command line wins. Decoding is strict: unknown fields and repeated ones are refused with their path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from podling.cli.common_options import Failure
from podling.cluster.admission_settings import SECTION as ADMISSION

API_VERSION, KIND = "podling.dev/v1alpha1", "ClusterConfiguration"
KUBELET, SCHEDULER = "kubeletConfiguration", "schedulerConfiguration"
NOT_IN_FILES = frozenset(
    {
        "admission_document",
        "config",
        "detach",
        "directory",
        "identity",
        "kubelet_document",
        "new_store",
        "progress_fd",
        "scheduler_document",
        "set_aside_undecodable",
    }
)
"""Parameters of the command that are no settings of a cluster."""


def config_option(command: Any) -> Any:
    """``--config``, and the parameter for the kubelet's configuration inside of it."""
    hidden = click.option("--kubelet-document", hidden=True)(command)
    return click.option(
        "--config",
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_apply,
        help=f"The cluster's configuration, in place of options: a {KIND} of {API_VERSION}.",
    )(hidden)


def _apply(context: click.Context, _option: click.Parameter, file: str | None) -> None:
    """Make the file's values the defaults of the command's parameters."""
    if file:
        context.default_map = defaults_from(Path(file), context.command.params)


def defaults_from(file: Path, parameters: list[click.Parameter]) -> dict[str, Any]:
    """Return the values of parameters that a file sets. Raises ``Failure``."""
    from podling.kubelet.configuration.names import json_name
    from podling.machinery.encoding.bodies import YAML, read_body
    from podling.machinery.errors import ApiError

    refused = f"failed to load cluster configuration, path: {file}, error: "
    try:
        body = read_body(file.read_bytes(), YAML)
    except (OSError, ApiError) as error:
        raise Failure(f"{refused}{getattr(error, 'strerror', None) or error}") from error
    plain = body.value
    if not isinstance(plain, dict) or (plain.get("apiVersion"), plain.get("kind")) != (API_VERSION, KIND):
        raise Failure(f"{refused}it is no {KIND} of {API_VERSION}")
    known = {json_name(each.name): each for each in parameters if each.name and each.name not in NOT_IN_FILES}
    strange = [*body.duplicates, *(f'unknown field "{key}"' for key in _unknown(plain, known))]
    if strange:
        raise Failure(f"{refused}strict decoding error: {', '.join(strange)}")
    found = {
        known[key].name or "": _text(value, known[key], refused)
        for key, value in plain.items()
        if key in known
    }
    if KUBELET in plain:
        found["kubelet_document"] = _kubelet_document(plain[KUBELET], file)
    if SCHEDULER in plain:
        found["scheduler_document"] = _scheduler_document(plain[SCHEDULER], file)
    if ADMISSION in plain:
        found["admission_document"] = _admission_document(plain[ADMISSION], file)
    return found


def _unknown(plain: Mapping[str, Any], known: Mapping[str, click.Parameter]) -> list[str]:
    own = ("apiVersion", "kind", KUBELET, SCHEDULER, ADMISSION)
    return [key for key in plain if key not in known and key not in own]


def _text(value: Any, parameter: click.Parameter, refused: str) -> Any:
    """Return a value as the command line would have it: lists and maps joined by commas."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        value = ",".join(str(each) for each in value)
    elif isinstance(value, dict):
        value = ",".join(f"{key}={_scalar(each)}" for key, each in value.items())
    elif value is None or not isinstance(value, str | int | float):
        raise Failure(f"{refused}{parameter.name} has no value")
    return (str(value),) if parameter.multiple else str(value)


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kubelet_document(plain: Any, file: Path) -> str:
    """Return a kubelet's configuration as JSON, once it has been checked. Raises ``Failure``."""
    from podling.kubelet.configuration.files import settings_of
    from podling.kubelet.configuration.refused import ConfigurationRefused

    _check_object(plain, KUBELET, file)
    try:
        settings_of(plain, Path("/"), f"{file}, {KUBELET}")
    except ConfigurationRefused as error:
        raise Failure(str(error)) from error
    return json.dumps(plain)


def _scheduler_document(plain: Any, file: Path) -> str:
    """Return a scheduler's configuration as JSON, once it has been checked. Raises ``Failure``."""
    from podling.cluster.scheduler_settings import section
    from podling.scheduler.configuration.files import ConfigurationRefused
    from podling.scheduler.configuration.plugin_args import STORAGE_CAPACITY_SCORING

    _check_object(plain, SCHEDULER, file)
    try:
        # The command line may have other gates than the file: fields of gates are checked with the options.
        section(plain, f"{file}, {SCHEDULER}", {STORAGE_CAPACITY_SCORING: True})
    except ConfigurationRefused as error:
        raise Failure(str(error)) from error
    return json.dumps(plain)


def _admission_document(plain: Any, file: Path) -> str:
    """Return an admission configuration as JSON, its paths absolute, once it has been checked.

    Raises ``Failure``.
    """
    from podling.apiserver.admission.configuration.files import ConfigurationRefused
    from podling.cluster.admission_settings import section

    _check_object(plain, ADMISSION, file)
    folder = file.absolute().parent
    try:
        section(plain, folder, f"{file}, {ADMISSION}")
    except ConfigurationRefused as error:
        raise Failure(str(error)) from error
    plugins = [
        {**each, "path": str(folder / each["path"])} if each.get("path") else each
        for each in plain.get("plugins") or ()
    ]
    return json.dumps({**plain, "plugins": plugins})


def _check_object(plain: Any, name: str, file: Path) -> None:
    if not isinstance(plain, dict):
        raise Failure(f"failed to load cluster configuration, path: {file}, error: {name} is no object")
