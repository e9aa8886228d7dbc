"""Validation of projected volumes: sources in one directory may not share a file path.

Upstream: ``validateProjectionSources`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from podling.api.core_v1 import (
    ClusterTrustBundleProjection,
    DownwardAPIVolumeFile,
    KeyToPath,
    PodCertificateProjection,
    ProjectedVolumeSource,
    ServiceAccountTokenProjection,
    VolumeProjection,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.signer_names import bundle_name_errors, signer_name_errors
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path

SHORTEST_TOKEN = 10 * 60
LONGEST_TOKEN = 2**32
SHORTEST_CERTIFICATE = 3600
LONGEST_CERTIFICATE = 91 * 24 * 3600
LONGEST_OF_KUBERNETES = 24 * 3600
KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")

_CONFLICT = "conflicting duplicate paths"

CheckItem = Callable[[Path, KeyToPath], Errors]
CheckFile = Callable[[Path, DownwardAPIVolumeFile], Errors]


def validate_projected(
    path: Path, volume: ProjectedVolumeSource, check_item: CheckItem, check_file: CheckFile
) -> Errors:
    errors = checks.file_mode(path.child("defaultMode"), volume.default_mode)
    taken: set[str] = set()
    for position, source in enumerate(volume.sources):
        here = path.child("sources").index(position)
        errors += _keyed_source_errors(path, here, source, check_item, taken)
        if source.downward_api is not None:
            for file in source.downward_api.items:
                errors += check_file(here.child("downwardAPI"), file)
            errors += _claim_files(
                path, ((file.path, file.path) for file in source.downward_api.items), taken
            )
        if source.service_account_token is not None:
            errors += _token_errors(path, here.child("serviceAccountToken"), source.service_account_token)
        if source.cluster_trust_bundle is not None:
            errors += _trust_bundle_errors(here.child("clusterTrustBundle"), source.cluster_trust_bundle)
            bundle = source.cluster_trust_bundle.path
            errors += _claim_files(path, ((bundle, bundle),), taken)
        if source.pod_certificate is not None:
            errors += _certificate_errors(path, here.child("podCertificate"), source.pod_certificate, taken)
        if _count(source) > 1:
            text = "may not specify more than 1 volume type per source"
            errors.append(fields.forbidden(here, text))
    return errors


def _count(source: VolumeProjection) -> int:
    return sum(getattr(source, name) is not None for name in source.__struct_fields__)


def _claim_files(path: Path, files: Iterable[tuple[str, str]], taken: set[str]) -> Errors:
    """Add files to ``taken`` and return conflicts, which Kubernetes reports at the volume.

    ``files`` are pairs of path and value in messages.
    """
    errors: Errors = []
    for file, shown in files:
        if file and file in taken:
            errors.append(fields.invalid(path, shown, _CONFLICT))
        taken.add(file)
    return errors


def _keyed_source_errors(
    path: Path, here: Path, source: VolumeProjection, check_item: CheckItem, taken: set[str]
) -> Errors:
    errors: Errors = []
    for name, projection in (("secret", source.secret), ("configMap", source.config_map)):
        if projection is None:
            continue
        where = here.child(name)
        if not projection.name:
            errors.append(fields.required(where.child("name")))
        for position, item in enumerate(projection.items):
            errors += check_item(where.child("items").index(position), item)
        errors += _claim_files(path, ((item.path, projection.name or "") for item in projection.items), taken)
    return errors


def _token_errors(path: Path, here: Path, token: ServiceAccountTokenProjection) -> Errors:
    errors: Errors = []
    seconds = token.expiration_seconds or 0
    if seconds < SHORTEST_TOKEN:
        text = "may not specify a duration less than 10 minutes"
        errors.append(fields.invalid(here.child("expirationSeconds"), seconds, text))
    if seconds > LONGEST_TOKEN:
        text = "may not specify a duration larger than 2^32 seconds"
        errors.append(fields.invalid(here.child("expirationSeconds"), seconds, text))
    if not token.path:
        return [*errors, fields.required(path.child("path"))]
    return errors + checks.local_file_path(path.child("path"), token.path)


def _trust_bundle_errors(path: Path, bundle: ClusterTrustBundleProjection) -> Errors:
    errors: Errors = []
    if bundle.name is not None and bundle.signer_name is not None:
        errors.append(fields.invalid(path, bundle, "only one of name and signerName may be used"))
    elif bundle.name is not None:
        if not bundle.name:
            errors.append(fields.required(path.child("name"), "must be a valid object name"))
        errors += bundle_name_errors(path.child("name"), bundle.name)
        if bundle.label_selector is not None:
            text = "labelSelector must be unset if name is specified"
            errors.append(fields.invalid(path.child("labelSelector"), bundle.label_selector, text))
    elif bundle.signer_name is not None:
        if not bundle.signer_name:
            errors.append(fields.required(path.child("signerName"), "must be a valid signer name"))
        errors += signer_name_errors(path.child("signerName"), bundle.signer_name)
        errors += label_checks.label_selector(path.child("labelSelector"), bundle.label_selector)
    else:
        errors.append(fields.required(path, "either name or signerName must be specified"))
    if not bundle.path:
        errors.append(fields.required(path.child("path")))
    return errors + checks.local_file_path(path.child("path"), bundle.path)


def _certificate_errors(
    volume: Path, path: Path, certificate: PodCertificateProjection, taken: set[str]
) -> Errors:
    errors = signer_name_errors(path.child("signerName"), certificate.signer_name)
    errors += _user_annotation_errors(path.child("userAnnotations"), certificate.user_annotations)
    if certificate.key_type not in KEY_TYPES:
        errors.append(fields.not_supported(path.child("keyType"), certificate.key_type, KEY_TYPES))
    seconds = certificate.max_expiration_seconds
    domain = certificate.signer_name.partition("/")[0]
    of_kubernetes = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    longest = LONGEST_OF_KUBERNETES if of_kubernetes else LONGEST_CERTIFICATE
    if seconds is not None and seconds < SHORTEST_CERTIFICATE:
        text = f"if provided, maxExpirationSeconds must be >= {SHORTEST_CERTIFICATE}"
        errors.append(fields.invalid(path.child("maxExpirationSeconds"), seconds, text))
    if seconds is not None and seconds > longest:
        text = f"if provided, maxExpirationSeconds must be <= {longest}"
        errors.append(fields.invalid(path.child("maxExpirationSeconds"), seconds, text))
    files = (
        ("credentialBundlePath", certificate.credential_bundle_path),
        ("keyPath", certificate.key_path),
        ("certificateChainPath", certificate.certificate_chain_path),
    )
    given = [(name, file) for name, file in files if file]
    for name, file in given:
        errors += checks.local_file_path(path.child(name), file)
        errors += _claim_files(volume, ((file, file),), taken)
    if not given:
        text = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(fields.required(path, text))
    return errors


def _user_annotation_errors(path: Path, annotations: Mapping[str, str]) -> Errors:
    """Return the errors in annotations for the signer: keys with a domain."""
    errors: Errors = []
    for key in map(str.lower, annotations):
        problems = names.qualified_name_errors(key)
        if not problems and "/" not in key:
            problems = ['must be a domain-prefixed key (such as "acme.io/foo")']
        errors += fields.invalid_each(path, key, problems)
    return errors
