"""ClusterTrustBundles: certificates of authorities to trust, on their own or of a signer.

Upstream: ``ValidateClusterTrustBundle`` in ``pkg/apis/certificates/validation``,
``pkg/registry/certificates/clustertrustbundle``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.certificates_v1beta1 import ClusterTrustBundle
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import NAME, value_or_none
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.signer_names import bundle_problems, signer_name_errors
from podling.machinery import fields
from podling.machinery.certificate_requests import PemBlock, pem_blocks
from podling.machinery.fields import Path
from podling.machinery.tables import Column

NAME_PATH = Path("metadata").child("name")
SIGNER, BUNDLE = Path("spec").child("signerName"), Path("spec").child("trustBundle")
SIZE_MAX = 1 << 20
OMITTED = "<value omitted>"


class TrustBundleRules(KindRules[ClusterTrustBundle]):
    unconditional_update = False
    columns = (NAME, Column("SignerName"))
    field_labels = ("spec.signerName",)

    def name_errors(self, name: str) -> list[str]:
        """Return nothing: which names are valid depends on the signer."""
        return []

    def selectable_fields(self, obj: ClusterTrustBundle) -> dict[str, str]:
        return {"spec.signerName": obj.spec.signer_name}

    def validate(self, obj: ClusterTrustBundle, context: Context) -> Errors:
        return _identity_errors(obj) + bundle_errors(obj.spec.trust_bundle)

    def validate_update(self, new: ClusterTrustBundle, old: ClusterTrustBundle, context: Context) -> Errors:
        errors = _identity_errors(new)
        if new.spec.trust_bundle != old.spec.trust_bundle:
            errors += bundle_errors(new.spec.trust_bundle)
        return errors + checks.immutable(SIGNER, new.spec.signer_name, old.spec.signer_name)

    def row(self, obj: ClusterTrustBundle, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, value_or_none(obj.spec.signer_name)


def _identity_errors(obj: ClusterTrustBundle) -> Errors:
    signer, name = obj.spec.signer_name, obj.metadata.name or ""
    errors = fields.invalid_each(NAME_PATH, name, bundle_problems(name, signer))
    return errors + (signer_name_errors(SIGNER, signer) if signer else [])


def bundle_errors(text: str) -> Errors:
    """Return the errors in a bundle: each block must be another authority's certificate."""
    if len(text.encode()) > SIZE_MAX:
        return [fields.too_long(BUNDLE, SIZE_MAX)]
    blocks = pem_blocks(text.encode())
    found = [(number, _block_problem(block)) for number, block in enumerate(blocks)]
    problems = [f"entry {number} {problem}" for number, problem in found if problem]
    if not problems:
        problems = [] if blocks else ["at least one trust anchor must be provided"]
        entries: dict[bytes, list[str]] = {}
        for number, block in enumerate(blocks):
            entries.setdefault(block.content, []).append(str(number))
        twice = [numbers for numbers in entries.values() if len(numbers) > 1]
        problems += [f"duplicate trust anchor (indices [{' '.join(numbers)}])" for numbers in twice]
    return fields.invalid_each(BUNDLE, OMITTED, problems)


def _block_problem(block: PemBlock) -> str:
    """Return why a block is no certificate of an authority; empty if it is one."""
    from cryptography import x509

    if block.label != "CERTIFICATE":
        return f"has bad block type: {block.label}"
    if block.has_headers:
        return "has PEM block headers"
    try:
        extensions = x509.load_der_x509_certificate(block.content).extensions
        constraints = extensions.get_extension_for_class(x509.BasicConstraints).value
    except ValueError:
        return "does not parse as X.509"
    except x509.ExtensionNotFound:
        return "does not have the CA bit set"
    return "" if constraints.ca else "does not have the CA bit set"
