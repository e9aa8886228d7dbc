"""Reads what the user has configured of a node's kubelet: file, drop-ins, options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podling.kubelet.configuration.refused import ConfigurationRefused
from podling.node.node_options import NodeOptions, settings_of_options


def kubelet_settings(options: NodeOptions) -> dict[str, Any]:
    """Return the fields of ``KubeletConfig`` that the user has set. Raises ``ConfigurationRefused``."""
    directory = Path(options.config_dir) if options.config_dir else None
    if options.kubelet_config or directory:
        from podling.kubelet.configuration.files import load

        file = Path(options.kubelet_config) if options.kubelet_config else None
        from_file = load(file, directory)
    elif options.kubelet_document:
        from podling.kubelet.configuration.files import settings_of

        from_file = settings_of(json.loads(options.kubelet_document), Path("/"), "kubeletConfiguration")
    else:
        from_file = {}
    try:
        return settings_of_options(options, from_file)
    except ConfigurationRefused:
        raise
    except ValueError as error:
        raise ConfigurationRefused(str(error)) from error
