"""Records of SidecarSets in pods. The cases are those of OpenKruise's ``sidecarcontrol/util_test.go``."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from msgspec import structs

from podling.api.core_v1 import Pod
from podling_kruise.sidecarset.annotations import (
    SET_HASH,
    UPDATE_STATE,
    UnreadableRecord,
    new_record,
    record_of,
    records,
    records_text,
    update_states,
    with_changed_containers,
    working_containers,
)
from tests.support.sidecar_sets import pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def annotated(name: str, text: str) -> Pod:
    found = pod()
    return structs.replace(found, metadata=structs.replace(found.metadata, annotations={name: text}))


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (records_text({"s": new_record("s", "aaa", ["c"], NOW)}), "aaa"),
        ('{"s": "aaa"}', "aaa"),
        ("failed-sidecarset-hash", ""),
        ('{"other": "aaa"}', ""),
        ("", ""),
    ],
)
def test_hash_is_read_in_every_form_that_releases_wrote(text: str, digest: str) -> None:
    assert record_of(annotated(SET_HASH, text), "s").hash == digest


def test_record_is_written_as_openkruise_writes_it() -> None:
    text = records_text({"s": new_record("s", "aaa", ["b", "a"], NOW, "s-1")})
    assert msgspec.json.decode(text) == {
        "s": {
            "updateTimestamp": "2026-01-01T00:00:00Z",
            "hash": "aaa",
            "sidecarSetName": "s",
            "sidecarList": ["b", "a"],
            "controllerRevision": "s-1",
        }
    }
    assert "controllerRevision" not in records_text({"s": new_record("s", "aaa", [], NOW)})


def test_unreadable_record_is_an_error() -> None:
    with pytest.raises(UnreadableRecord, match="unmarshal failed"):
        records({SET_HASH: "{"}, SET_HASH)


def test_record_of_an_update_keeps_those_of_other_sets() -> None:
    held = annotated(UPDATE_STATE, '{"other": {"revision": "x"}}')
    text = with_changed_containers(held, "s", "hash", ["agent"], NOW)
    plain = msgspec.json.decode(text)
    assert plain["other"]["revision"] == "x"
    assert plain["s"] == {
        "revision": "hash",
        "updateTimestamp": "2026-01-01T00:00:00Z",
        "lastContainerStatuses": {"agent": {}},
    }
    assert update_states(annotated(UPDATE_STATE, "{")) is None
    assert working_containers(annotated(UPDATE_STATE, "{")) == {}
