"""Objects survive encoding and decoding, and come out the way Kubernetes writes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from podling.api import apps_v1, coordination_v1, core_v1, meta_v1
from podling.machinery.encoding.codec import convert, decode, encode, from_plain, to_plain

POD = core_v1.Pod(
    metadata=meta_v1.ObjectMeta(
        name="web", labels={"app": "web"}, creation_timestamp=datetime(2020, 1, 1, tzinfo=UTC)
    ),
    spec=core_v1.PodSpec(
        containers=(
            core_v1.Container(
                name="a", image="nginx", resources=core_v1.ResourceRequirements(limits={"cpu": "500m"})
            ),
        ),
        node_selector={"disk": "ssd"},
    ),
)


def test_bytes_and_back() -> None:
    assert decode(encode(POD), core_v1.Pod) == POD


def test_plain_data_and_back() -> None:
    plain = to_plain(POD)
    assert from_plain(plain, core_v1.Pod) == POD
    assert plain["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"
    assert isinstance(plain["spec"]["containers"], list)


def test_encoded_object_passes_strict_field_validation() -> None:
    assert convert(to_plain(POD), core_v1.Pod, "Strict") == (POD, [])


def test_absent_fields_are_left_out_but_those_that_go_always_writes_are_there() -> None:
    assert json.loads(encode(core_v1.Pod())) == {
        "apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": []}, "status": {},
    }  # fmt: skip
    template = to_plain(apps_v1.Deployment())["spec"]["template"]
    assert template == {"metadata": {}, "spec": {"containers": []}}


def test_zeros_behind_pointers_alone_are_written() -> None:
    spec = structs.replace(POD.spec, termination_grace_period_seconds=0, host_network=False)
    plain = to_plain(structs.replace(POD, spec=spec))
    assert plain["spec"]["terminationGracePeriodSeconds"] == 0
    assert "hostNetwork" not in plain["spec"]


def test_a_lease_keeps_its_microseconds() -> None:
    moment = datetime(2020, 1, 1, 1, 2, 3, 45, tzinfo=UTC)
    lease = coordination_v1.Lease(spec=coordination_v1.LeaseSpec(renew_time=moment))
    assert b'"renewTime":"2020-01-01T01:02:03.000045Z"' in encode(lease)
    assert decode(encode(lease), coordination_v1.Lease) == lease


MICROSECONDS = st.sampled_from((None, 0, 1, 120_000, 999_999))


@given(st.lists(st.tuples(MICROSECONDS, MICROSECONDS), max_size=4))
def test_micro_times_have_six_digits_beside_others_without(
    found: list[tuple[int | None, int | None]],
) -> None:
    def moment(microseconds: int | None) -> datetime | None:
        return None if microseconds is None else datetime(2020, 1, 1, microsecond=microseconds, tzinfo=UTC)

    events = core_v1.EventList(
        items=tuple(
            core_v1.Event(event_time=moment(own), series=core_v1.EventSeries(last_observed_time=moment(last)))
            for own, last in found
        )
    )
    shown = [
        (each.get("eventTime"), each["series"].get("lastObservedTime")) for each in to_plain(events)["items"]
    ]
    assert shown == [
        tuple(None if each is None else f"2020-01-01T00:00:00.{each:06}Z" for each in pair) for pair in found
    ]
    assert decode(encode(events), core_v1.EventList) == events


def test_unknown_fields_in_stored_bytes_are_skipped() -> None:
    assert decode(b'{"metadata":{"name":"a","new":1},"more":{}}', core_v1.Pod).metadata.name == "a"


def test_nulls_of_other_servers_are_read() -> None:
    nodes = decode(b'{"items":null,"metadata":{"resourceVersion":"5"}}', core_v1.NodeList)
    assert nodes.items == ()
    assert nodes.metadata.resource_version == "5"
