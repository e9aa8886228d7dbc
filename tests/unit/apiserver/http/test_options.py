"""Options of requests, and the messages of their refusals."""

from __future__ import annotations

import pytest

from podling.api.meta_v1 import DeleteOptions
from podling.apiserver.http.options import delete_options, list_options, write_options
from podling.client.base import PatchType
from podling.machinery.errors import ApiError


def test_list_options_are_read_from_the_query() -> None:
    found = list_options(
        {
            "labelSelector": "a=b",
            "fieldSelector": "metadata.name=c",
            "limit": "500",
            "continue": "token",
            "resourceVersion": "7",
            "timeoutSeconds": "30",
        }
    )
    assert (found.label_selector, found.field_selector, found.limit) == ("a=b", "metadata.name=c", 500)
    assert (found.continue_token, found.resource_version, found.timeout_seconds) == ("token", "7", 30)
    assert (found.bookmarks, found.send_initial_events) == (False, None)


def test_watch_options_are_read_from_the_query() -> None:
    query = {
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    found = list_options(query, watch=True)
    assert (found.bookmarks, found.send_initial_events) == (True, True)


MATCH = "resourceVersionMatch: "


@pytest.mark.parametrize(
    ("query", "watch", "message"),
    [
        pytest.param(
            {"resourceVersionMatch": "Exact"},
            False,
            f"{MATCH}Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            id="a match without a version",
        ),
        pytest.param(
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            False,
            f'{MATCH}Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
            id="exactly anything",
        ),
        pytest.param(
            {"resourceVersionMatch": "Near", "resourceVersion": "1"},
            False,
            f'{MATCH}Unsupported value: "Near": supported values: "Exact", "NotOlderThan", ""',
            id="an unknown match",
        ),
        pytest.param(
            {"resourceVersionMatch": "Exact", "resourceVersion": "1", "continue": "x"},
            False,
            f"{MATCH}Forbidden: resourceVersionMatch is forbidden when continue is provided",
            id="a match on a later page",
        ),
        pytest.param(
            {"sendInitialEvents": "true"},
            False,
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
            id="initial events of a list",
        ),
        pytest.param(
            {"sendInitialEvents": "true"},
            True,
            f"{MATCH}Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            id="initial events without a match",
        ),
        pytest.param(
            {"resourceVersionMatch": "NotOlderThan"},
            True,
            f"{MATCH}Forbidden: resourceVersionMatch is forbidden for watch "
            "unless sendInitialEvents is provided",
            id="a match without initial events",
        ),
    ],
)
def test_contradictions_are_refused(query: dict[str, str], watch: bool, message: str) -> None:
    with pytest.raises(ApiError) as error:
        list_options(query, watch=watch)
    assert error.value.code == 422
    assert str(error.value) == f'ListOptions.meta.k8s.io "" is invalid: {message}'


def test_malformed_number_is_refused() -> None:
    with pytest.raises(ApiError) as error:
        list_options({"limit": "many"})
    assert (error.value.code, str(error.value)) == (400, 'strconv.ParseInt: parsing "many": invalid syntax')


class TestWrites:
    def test_defaults_of_write_options(self) -> None:
        found = write_options({}, "create")
        assert (found.dry_run, found.field_manager, found.field_validation) == (False, "unknown", "Warn")

    @pytest.mark.parametrize(
        ("agent", "manager"),
        [
            ("kubectl/v1.36.2 (linux/amd64)", "kubectl"),
            ("my tool 1.0", "my tool 1.0"),
            ("/1.0", "unknown"),
            ("\tcurl\x7f/8", "curl"),
            ("x" * 200, "x" * 128),
            ("ü" * 100, "ü" * 64),
        ],
    )
    def test_default_field_manager_is_the_user_agent(self, agent: str, manager: str) -> None:
        assert write_options({}, "create", agent=agent).field_manager == manager
        assert write_options({"dryRun": "All"}, "create", agent=agent).field_manager == manager

    def test_every_write_option_is_read(self) -> None:
        query = {"dryRun": "All", "fieldManager": "me", "fieldValidation": "Strict", "force": "true"}
        found = write_options(query, "patch", PatchType.APPLY)
        assert (found.dry_run, found.field_manager, found.field_validation) == (True, "me", "Strict")
        assert found.force

    @pytest.mark.parametrize(
        ("query", "patch", "message"),
        [
            ({"dryRun": "Some"}, None, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
            ({"fieldManager": "x" * 129}, None, "fieldManager: Too long: may not be more than 128 bytes"),
            (
                {"fieldManager": "ü\n"},
                None,
                'fieldManager: Invalid value: "ü\\n": invalid character U+000A (at position 2)',
            ),
            ({"force": ""}, PatchType.JSON, "force: Forbidden: may not be specified for non-apply patch"),
            ({}, PatchType.APPLY, "fieldManager: Required value: is required for apply patch"),
            (
                {"force": "true"},
                PatchType.MERGE,
                "force: Forbidden: may not be specified for non-apply patch",
            ),
        ],
    )
    def test_invalid_write_options_are_refused(
        self, query: dict[str, str], patch: PatchType | None, message: str
    ) -> None:
        with pytest.raises(ApiError) as error:
            write_options(query, "patch", patch)
        assert str(error.value) == f'PatchOptions.meta.k8s.io "" is invalid: {message}'


class TestDeletions:
    def test_delete_options_are_read_from_the_query(self) -> None:
        found = delete_options({"gracePeriodSeconds": "0", "propagationPolicy": "Orphan"}, None)
        assert (found.grace_period_seconds, found.propagation_policy) == (0, "Orphan")

    def test_body_of_delete_options_overrides_the_query(self) -> None:
        found = delete_options({"gracePeriodSeconds": "0"}, DeleteOptions(grace_period_seconds=5))
        assert found.grace_period_seconds == 5

    def test_orphan_dependents_excludes_a_propagation_policy(self) -> None:
        body = DeleteOptions(propagation_policy="Orphan", orphan_dependents=True)
        with pytest.raises(ApiError) as error:
            delete_options({}, body)
        assert "orphanDependents and deletionPropagation cannot be both set" in str(error.value)
