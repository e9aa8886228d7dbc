"""The pages of flags and status: text and objects, and the form that a client gets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podling.machinery.component_pages import JSON, STATUSZ, TEXT, YAML, flagz, statusz, wanted
from podling.machinery.errors import ApiError

STARTED = datetime(2026, 3, 5, 7, 8, 9, 999999, tzinfo=UTC)
NO_FORMAT = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only.\n"
)
SERVED = (
    "/livez/poststarthook/a",
    "/livez/post",
    "/readyz/ping",
    "/",
    "/apis",
    "/openid/v1/jwks",
    "/version",
)


@pytest.mark.parametrize(
    ("accept", "form", "version"),
    [
        ("", TEXT, ""),
        (" ", TEXT, ""),
        ("text/plain", TEXT, ""),
        ("*/*", TEXT, ""),
        ("text/*", TEXT, ""),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Statusz", JSON, "v1beta1"),
        ("application/json;v=v1alpha1;g=config.k8s.io;as=Statusz", JSON, "v1alpha1"),
        ("application/yaml;v=v1beta1;g=config.k8s.io;as=Statusz", YAML, "v1beta1"),
        ("*/*;v=v1beta1;g=config.k8s.io;as=Statusz", JSON, "v1beta1"),
        ("application/json;v=foo;g=config.k8s.io;as=Statusz,*/*", TEXT, ""),
    ],
)
def test_client_gets_the_form_that_it_accepts(accept: str, form: str, version: str) -> None:
    assert wanted(STATUSZ, accept) == (form, version)


@pytest.mark.parametrize(
    "accept",
    [
        "application/xml",
        "application/json",
        "application/json;v=v1beta1;g=config.k8s.io",
        "application/json;v=v1beta1;g=config.k8s.io;as=Flagz",
        "application/json;v=v1;g=config.k8s.io;as=Statusz",
        "application/json;v=v1beta1;g=config.k8s.io;as=Statusz;stream=watch",
        "application/vnd.kubernetes.protobuf;v=v1beta1;g=config.k8s.io;as=Statusz",
        "text/plain;v=v1beta1;g=config.k8s.io;as=Statusz",
    ],
)
def test_other_forms_are_not_acceptable(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        wanted(STATUSZ, accept)
    assert refused.value.code == 406
    assert str(refused.value) == (
        "only the following media types are accepted: application/json, application/yaml, text/plain"
    )


def test_status_shows_age_versions_and_first_parts_of_paths() -> None:
    page = statusz(
        "apiserver", "v1.36.2", STARTED, STARTED + timedelta(hours=26, minutes=3, seconds=4), SERVED
    )
    assert page.text == (
        f"\napiserver statusz\n{NO_FORMAT}\n"
        "Started: Thu Mar  5 07:08:09 UTC 2026\n"
        "Up: 26 hr 03 min 04 sec\n"
        "Go version: go1.26\n"
        "Binary version: 1.36.2\n"
        "Emulation version: 1.36\n"
        "Paths: /livez /readyz /version\n"
    )
    assert page.document("v1beta1") == {
        "kind": "Statusz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "apiserver"},
        "startTime": "2026-03-05T07:08:09Z",
        "uptimeSeconds": 26 * 3600 + 184,
        "goVersion": "go1.26",
        "binaryVersion": "1.36.2",
        "emulationVersion": "1.36",
        "paths": ["/livez", "/readyz", "/version"],
    }


def test_a_clock_that_was_set_back_gives_no_negative_age() -> None:
    page = statusz("kubelet", "v1.36.2", STARTED, STARTED - timedelta(hours=1), ())
    assert page.fields["uptimeSeconds"] == 0
    assert page.lines[-1] == ""


def test_flags_are_sorted() -> None:
    page = flagz("kubelet", {"node-labels": "a=b", "feature-gates": ""})
    assert page.text == f"\nkubelet flagz\n{NO_FORMAT}feature-gates=\nnode-labels=a=b\n"
    assert page.document("v1beta1") == {
        "kind": "Flagz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "kubelet"},
        "flags": {"feature-gates": "", "node-labels": "a=b"},
    }
    assert flagz("kubelet", {}).document("v1beta1").keys() == {"kind", "apiVersion", "metadata"}


def test_older_version_of_an_object_is_deprecated() -> None:
    page = flagz("kubelet", {})
    assert page.warning("v1beta1") == ""
    assert page.warning("v1alpha1") == (
        "This version of the flagz endpoint is deprecated. Please use a newer version."
    )
