"""Names of images: familiar ones, with tag or digest."""

from __future__ import annotations

import pytest

from podling_kruise.imagepull.references import InvalidReference, full_reference, name_and_tag

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("nginx", ("nginx", "latest")),
        ("nginx:1.25", ("nginx", "1.25")),
        ("docker.io/library/nginx", ("nginx", "latest")),
        ("index.docker.io/me/web:2", ("me/web", "2")),
        ("localhost:5000/web", ("localhost:5000/web", "latest")),
        ("registry.example/a/b:v1", ("registry.example/a/b", "v1")),
        (f"nginx@{DIGEST}", ("nginx", DIGEST)),
        (f"nginx:1.25@{DIGEST}", ("nginx", DIGEST)),
    ],
)
def test_reference_has_a_familiar_name_and_a_tag(reference: str, found: tuple[str, str]) -> None:
    assert name_and_tag(reference) == found


@pytest.mark.parametrize("reference", ["", "Web:1", "web:", "a//b", "web@sha256:1", "web:a b"])
def test_text_that_names_no_image_is_refused(reference: str) -> None:
    with pytest.raises(InvalidReference, match="invalid reference format"):
        name_and_tag(reference)


def test_digest_is_pulled_by_its_own_sign() -> None:
    assert full_reference("web", "1") == "web:1"
    assert full_reference("web", DIGEST) == f"web@{DIGEST}"
