"""The base class of types of options, which click 8.1 has without a type parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click import ParamType
else:

    class ParamType(click.ParamType):
        """click's class, which takes a type parameter with every click and forgets it."""

        def __class_getitem__(cls, parameter: Any) -> type[ParamType]:
            return cls


__all__ = ["ParamType"]
