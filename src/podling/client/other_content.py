"""Objects of aggregated API servers, of which only the common fields are known. Pure."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from podling.api.meta_v1 import ObjectMeta


class Content(Struct, frozen=True, kw_only=True, rename="camel"):
    """The common fields of any server's object; in a list, it may omit its kind."""

    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=lambda: ObjectMeta())
