"""The error of a configuration that cannot be used."""

from __future__ import annotations


class ConfigurationRefused(ValueError):
    """A configuration of the kubelet cannot be used; the text names the file and every reason."""
