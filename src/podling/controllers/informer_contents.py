"""The parts of objects that the informers of controllers and scheduler keep. Pure.

The garbage collector follows every kind and reads metadata alone; where others read no more than that, the
rest is dropped. Upstream follows such kinds by ``PartialObjectMetadata``.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from podling.api.core_v1 import ConfigMap, Secret
from podling.client.transforms import without_managed_fields
from podling.controllers.auth.root_ca import CONFIG_MAP
from podling.machinery import cluster_info
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.tokens import bootstrap_tokens
from podling.machinery.tokens.legacy_tokens import SECRET_TYPE

READ_MAPS = (CONFIG_MAP, cluster_info.NAME)
"""Names of the ConfigMaps whose contents controllers read."""
READ_SECRETS = (SECRET_TYPE, bootstrap_tokens.SECRET_TYPE)
"""Types of the Secrets whose contents controllers read."""


def kept_of(obj: Any) -> Any:
    """Return what an informer keeps of ``obj``."""
    obj = without_managed_fields(obj)
    match obj:
        case ConfigMap() if obj.metadata.name not in READ_MAPS:
            return replace(obj, data={}, binary_data={})
        case Secret() if obj.type not in READ_SECRETS:
            return replace(obj, data={})
        case CustomObject():
            return replace(obj, content={})
    return obj
