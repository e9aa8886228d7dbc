"""Discovery documents: aggregated and plain."""

from __future__ import annotations

import pytest

from podling.apiserver.http import discovery
from podling.apiserver.http.discovery import AGGREGATED, aggregated_version
from podling.machinery.scheme import RESOURCES

V2, OLDER = AGGREGATED.format("v2"), AGGREGATED.format("v2beta1")


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (V2, "v2"),
        (OLDER, "v2beta1"),
        (f"{V2},application/json", "v2"),
        (f"{OLDER},{V2},application/json", "v2beta1"),
        (f"{AGGREGATED.format('v3')},{V2}", "v2"),
        (f"{AGGREGATED.format('v3')},application/json", ""),
        ("application/json", ""),
        (f"application/json,{V2}", ""),
        (f"application/json;q=0.9,{V2}", "v2"),
        ("", ""),
    ],
)
def test_version_of_aggregated_discovery_is_negotiated(accept: str, wanted: str) -> None:
    assert aggregated_version(accept) == wanted


def test_aggregated_discovery_agrees_with_the_plain_form() -> None:
    aggregated = {
        (item["metadata"].get("name", ""), version["version"], each["resource"]): each
        for core in (True, False)
        for item in discovery.aggregated(core=core)["items"]
        for version in item["versions"]
        for each in version["resources"]
    }
    assert len(aggregated) == len(RESOURCES)
    for (group, version, plural), each in aggregated.items():
        listed = discovery.resources(group, version)
        assert listed is not None
        named = {resource.name: resource for resource in listed.resources}
        assert each["responseKind"]["kind"] == named[plural].kind
        parts = {name.partition("/")[2] for name in named if name.startswith(f"{plural}/")}
        assert {part["subresource"] for part in each.get("subresources", ())} == parts


def test_groups_have_a_preferred_version() -> None:
    names = [each.name for each in discovery.groups().groups]
    assert "apps" in names
    assert "" not in names
    apps = discovery.group("apps")
    assert apps is not None
    assert apps.preferred_version.group_version == "apps/v1"
    assert discovery.group("nothing") is None
    assert discovery.resources("apps", "v9") is None


def test_groups_in_their_list_have_no_type() -> None:
    document = discovery.groups_document((), (("example.com", "v1"),))
    assert (document["apiVersion"], document["kind"]) == ("v1", "APIGroupList")
    assert {frozenset(each) for each in document["groups"]} == {
        frozenset(("name", "versions", "preferredVersion"))
    }
    assert document["groups"][-1]["name"] == "example.com"


def test_version_can_be_parsed_by_clients() -> None:
    found = discovery.version()
    assert (found.major, found.minor) == ("1", "36")
    assert found.git_version.startswith("v1.36.2+podling")
