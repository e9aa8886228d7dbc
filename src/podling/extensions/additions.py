"""The additions of extensions to one API server."""

from __future__ import annotations

from collections.abc import Sequence

from podling.apiserver.additions import Additions
from podling.extensions.extension import Extension


def additions_from(extensions: Sequence[Extension]) -> Additions:
    """Return the kinds, objects and converters of these extensions together."""
    return Additions(
        definitions=tuple(each for extension in extensions for each in extension.definitions()),
        objects=tuple(each for extension in extensions for each in extension.objects()),
        converters={
            name: function for extension in extensions for name, function in extension.converters().items()
        },
    )
