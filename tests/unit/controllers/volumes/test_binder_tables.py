"""One pass of the binder: the cases of upstream's ``binder_test.go`` (sets 1 to 4, 13 and 14)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.meta_v1 import LabelSelector
from podling.testing import ControlPlane
from tests.unit.controllers.volumes.binder_cases import Case, Claim, Vol, check_pass, storage_class

LABELS = {"foo": "true", "bar": "false"}
SELECTING = {"selector": LabelSelector(match_labels=LABELS)}
BLOCK, FILES = {"volume_mode": "Block"}, {"volume_mode": "Filesystem"}
WAIT = (storage_class("wait", mode="WaitForFirstConsumer"),)
BOUND_CLAIM = Claim(volume="v", phase="Bound", marks="bc")
BOUND = Vol("v", of="data!", phase="Bound", marks="b")
NO_VOLUME = ("Normal FailedBinding",)

FREE_CHOICE = {
    "1-1 a free volume": Case((Vol("v"),), Claim(), (BOUND,), BOUND_CLAIM),
    "1-2 none is large enough": Case((Vol("v"),), Claim("10Gi"), events=NO_VOLUME),
    "1-3 back to Pending": Case(
        (Vol("v"),), Claim("10Gi", phase="Bound"), claim_after=Claim("10Gi"), events=NO_VOLUME
    ),
    "1-4 the smallest": Case(
        (Vol("big", "10Gi"), Vol("v")), Claim(), (Vol("big", "10Gi"), BOUND), BOUND_CLAIM
    ),
    "1-5 reserved by name, though a smaller is free": Case(
        (Vol("v", "10Gi", of="data"), Vol("w")),
        Claim(),
        (Vol("v", "10Gi", of="data!", phase="Bound"), Vol("w")),
        Claim(volume="v", phase="Bound", marks="bc", shown="10Gi"),
    ),
    "1-6 reserved by UID": Case(
        (Vol("v", "10Gi", of="data!"), Vol("w")),
        Claim(),
        (Vol("v", "10Gi", of="data!", phase="Bound"), Vol("w")),
        Claim(volume="v", phase="Bound", marks="bc", shown="10Gi"),
    ),
    "1-7 reserved for an earlier claim of the name": Case(
        (Vol("v", "10Gi", of="data?"),), Claim(), events=NO_VOLUME
    ),
    "1-8 the volume was written": Case((Vol("v", of="data!", marks="b"),), Claim(), (BOUND,), BOUND_CLAIM),
    "1-9 the volume's status was written": Case((BOUND,), Claim(), (BOUND,), BOUND_CLAIM),
    "1-10 the claim was written": Case((BOUND,), Claim(volume="v", marks="bc"), (BOUND,), BOUND_CLAIM),
    "1-11 labels match": Case((Vol("v", labels=LABELS),), Claim(spec=SELECTING), (BOUND,), BOUND_CLAIM),
    "1-12 labels do not match": Case((Vol("v"),), Claim(spec=SELECTING), events=NO_VOLUME),
    "1-13 delayed": Case(
        (Vol("v", storage_class="wait"),),
        Claim(storage_class="wait"),
        events=("Normal WaitForFirstConsumer",),
        classes=WAIT,
    ),
    "1-14 delayed, and reserved": Case(
        (Vol("v", of="data", storage_class="wait"),),
        Claim(storage_class="wait"),
        (Vol("v", of="data!", phase="Bound"),),
        Claim(volume="v", phase="Bound", marks="bc", storage_class="wait"),
        classes=WAIT,
    ),
    "1-15 the claim names the larger one": Case(
        (Vol("v", "10Gi"), Vol("w")),
        Claim(volume="v"),
        (Vol("v", "10Gi", of="data!", phase="Bound", marks="b"), Vol("w")),
        Claim(volume="v", phase="Bound", marks="c", shown="10Gi"),
    ),
    "1-16 the claim names one with other access": Case(
        (Vol("v"),),
        Claim(volume="v", spec={"access_modes": ("ReadWriteMany",)}),
        events=("Warning VolumeMismatch",),
    ),
    "1-17 none is available": Case(
        tuple(Vol(f"v-{phase.lower()}", phase=phase) for phase in ("Pending", "Failed", "Released")),
        Claim(),
        events=NO_VOLUME,
    ),
    "1-18 delayed, on a node, and reserved": Case(
        (Vol("v", of="data!", storage_class="wait"),),
        Claim(storage_class="wait", annotations={"volume.kubernetes.io/selected-node": "node1"}),
        (Vol("v", of="data!", phase="Bound"),),
        Claim(
            volume="v",
            phase="Bound",
            marks="bc",
            storage_class="wait",
            annotations={"volume.kubernetes.io/selected-node": "node1"},
        ),
        classes=WAIT,
    ),
}

NAMED = {
    "2-1 no such volume": Case((), Claim("10Gi", volume="v")),
    "2-2 no such volume, back to Pending": Case(
        (), Claim("10Gi", volume="v", phase="Bound"), claim_after=Claim("10Gi", volume="v")
    ),
    "2-3 a free one": Case(
        (Vol("v"),), Claim(volume="v"), (BOUND,), Claim(volume="v", phase="Bound", marks="c")
    ),
    "2-4 one that names the claim": Case(
        (Vol("v", of="data"),),
        Claim(volume="v"),
        (Vol("v", of="data!", phase="Bound"),),
        Claim(volume="v", phase="Bound", marks="c"),
    ),
    "2-5 one that names its UID": Case(
        (Vol("v", of="data!"),),
        Claim(volume="v"),
        (Vol("v", of="data!", phase="Bound"),),
        Claim(volume="v", phase="Bound", marks="c"),
    ),
    "2-6 another's": Case(
        (Vol("v", of="other?", phase="Bound"),),
        Claim(volume="v", phase="Bound"),
        claim_after=Claim(volume="v"),
        events=("Warning FailedBinding",),
    ),
    "2-7 another's, given by the controller": Case(
        (Vol("v", of="other?", phase="Bound"),),
        Claim(volume="v", phase="Bound", marks="b"),
        events=("Warning FailedBinding",),
        error=True,
    ),
    "2-8 one that its selector does not match": Case(
        (Vol("v"),),
        Claim(volume="v", spec=SELECTING),
        (BOUND,),
        Claim(volume="v", phase="Bound", marks="c"),
    ),
    "2-9 too small": Case(
        (Vol("v"),),
        Claim("2Gi", volume="v", phase="Bound"),
        claim_after=Claim("2Gi", volume="v"),
        events=("Warning VolumeMismatch",),
    ),
    "2-10 of another class": Case(
        (Vol("v", storage_class="gold"),),
        Claim(volume="v", phase="Bound"),
        claim_after=Claim(volume="v"),
        events=("Warning VolumeMismatch",),
    ),
}

WAS_BOUND = {
    "3-1 it names no volume": Case(
        (),
        Claim("10Gi", phase="Bound", marks="bc"),
        claim_after=Claim("10Gi", phase="Lost", marks="bc"),
        events=("Warning ClaimLost",),
    ),
    "3-2 no such volume": Case(
        (),
        Claim("10Gi", volume="v", phase="Bound", marks="bc"),
        claim_after=Claim("10Gi", volume="v", phase="Lost", marks="bc"),
        events=("Warning ClaimLost",),
    ),
    "3-3 the volume is free": Case((Vol("v"),), Claim(volume="v", marks="bc"), (BOUND,), BOUND_CLAIM),
    "3-4 the volume names an earlier claim": Case(
        (Vol("v", of="data?"),),
        Claim(volume="v", marks="bc"),
        claim_after=Claim(volume="v", phase="Lost", marks="bc"),
        events=("Warning ClaimMisbound",),
    ),
    "3-5 the volume names it": Case(
        (Vol("v", of="data!"),),
        Claim(volume="v", marks="c"),
        (Vol("v", of="data!", phase="Bound"),),
        Claim(volume="v", phase="Bound", marks="c"),
    ),
    "3-6 the volume is another's": Case(
        (Vol("v", of="other?"),),
        Claim(volume="v", marks="c"),
        claim_after=Claim(volume="v", phase="Lost", marks="c"),
        events=("Warning ClaimMisbound",),
    ),
    "3-7 its selector does not match": Case(
        (Vol("v"),), Claim(volume="v", marks="bc", spec=SELECTING), (BOUND,), BOUND_CLAIM
    ),
}

OF_VOLUMES = {
    "4-1 free": Case((Vol("v", phase="Pending"),), after=(Vol("v"),), of_volume="v"),
    "4-2 reserved": Case(
        (Vol("v", of="data", phase="Pending"),), after=(Vol("v", of="data"),), of_volume="v"
    ),
    "4-3 its claim is gone": Case(
        (Vol("v", of="data!", phase="Bound"),),
        after=(Vol("v", of="data!", phase="Released"),),
        of_volume="v",
    ),
    "4-4 of an earlier claim": Case(
        (Vol("v", of="data?", phase="Bound"),),
        Claim(volume="v", phase="Bound", marks="c"),
        (Vol("v", of="data?", phase="Released"),),
        of_volume="v",
    ),
    "4-5 the claim names none, and the controller reserved it": Case((BOUND,), Claim(), of_volume="v"),
    "4-5 the claim names none, and a user reserved it": Case(
        (Vol("v", of="data!", phase="Bound"),), Claim(), of_volume="v"
    ),
    "4-6 both name each other": Case(
        (Vol("v", of="data!"),),
        Claim(volume="v", phase="Bound"),
        (Vol("v", of="data!", phase="Bound"),),
        of_volume="v",
    ),
    "4-7 the claim has another one": Case(
        (BOUND,), Claim(volume="w", phase="Bound"), (Vol("v"),), of_volume="v"
    ),
    "4-8 the claim has another one, and a user reserved it": Case(
        (Vol("v", of="data!", phase="Bound"),),
        Claim(volume="w", phase="Bound"),
        (Vol("v", of="data"),),
        of_volume="v",
    ),
}

GOLD = Claim(volume="v", phase="Bound", marks="bc", storage_class="gold", shown="10Gi")
CLASSES = {
    "13-1 of its class": Case(
        (Vol("w"), Vol("v", "10Gi", storage_class="gold")),
        Claim(storage_class="gold"),
        (Vol("w"), Vol("v", of="data!", phase="Bound", marks="b")),
        GOLD,
    ),
    "13-2 of none": Case(
        (Vol("w", storage_class="gold"), Vol("v", "10Gi")),
        Claim(),
        (Vol("w"), BOUND),
        Claim(volume="v", phase="Bound", marks="bc", shown="10Gi"),
    ),
    "13-3 of its class and not of another": Case(
        (Vol("w", storage_class="silver"), Vol("v", "10Gi", storage_class="gold")),
        Claim(storage_class="gold"),
        (Vol("w"), BOUND),
        GOLD,
    ),
    "13-4 the empty class": Case(
        (Vol("v"),),
        Claim(storage_class=""),
        (BOUND,),
        Claim(volume="v", phase="Bound", marks="bc", storage_class=""),
    ),
}


def _both(held: dict[str, str], wanted: dict[str, str], given: Vol, asked: Claim, **more: Any) -> Case:
    """Return the case of a volume and a claim with these modes."""
    return Case((structs.replace(given, spec=held),), structs.replace(asked, spec=wanted), **more)


RESERVED = Vol("v", of="data!", marks="b")
MISMATCH = ("Warning VolumeMismatch",)
MODES = {
    "14-1 block": _both(BLOCK, BLOCK, Vol("v"), Claim(), after=(BOUND,), claim_after=BOUND_CLAIM),
    "14-2 files": _both(FILES, FILES, Vol("v"), Claim(), after=(BOUND,), claim_after=BOUND_CLAIM),
    "14-3 files for block": _both(FILES, BLOCK, Vol("v"), Claim(), events=NO_VOLUME),
    "14-4 block for files": _both(BLOCK, FILES, Vol("v"), Claim(), events=NO_VOLUME),
    "14-5 the class matches": _both(
        FILES,
        BLOCK,
        Vol("v", storage_class="gold"),
        Claim(storage_class="gold"),
        events=("Warning ProvisioningFailed",),
    ),
    "14-5-1 only the modes match": _both(
        FILES,
        FILES,
        Vol("v", storage_class="gold"),
        Claim(storage_class="silver"),
        events=("Warning ProvisioningFailed",),
    ),
    "14-5-2 named, and only the modes match": _both(
        FILES,
        FILES,
        Vol("v", storage_class="gold"),
        Claim(volume="v", storage_class="silver"),
        events=MISMATCH,
    ),
    "14-7 reserved": _both(
        BLOCK,
        BLOCK,
        Vol("v", of="data"),
        Claim(),
        after=(Vol("v", of="data!", phase="Bound"),),
        claim_after=BOUND_CLAIM,
    ),
    "14-8 named, of another mode": _both(BLOCK, FILES, Vol("v"), Claim(volume="v"), events=MISMATCH),
    "14-8-1 reserved, of another mode": _both(BLOCK, FILES, Vol("v", of="data"), Claim(), events=NO_VOLUME),
    "14-9 named block": _both(
        BLOCK,
        BLOCK,
        Vol("v"),
        Claim(volume="v"),
        after=(BOUND,),
        claim_after=Claim(volume="v", phase="Bound", marks="c"),
    ),
    "14-11 named files": _both(
        FILES,
        FILES,
        Vol("v"),
        Claim(volume="v"),
        after=(BOUND,),
        claim_after=Claim(volume="v", phase="Bound", marks="c"),
    ),
    "14-12 reserved files": _both(
        FILES,
        FILES,
        Vol("v", of="data"),
        Claim(),
        after=(Vol("v", of="data!", phase="Bound"),),
        claim_after=BOUND_CLAIM,
    ),
    "14-13 a volume of files names a claim of block": _both(
        FILES, BLOCK, RESERVED, Claim(), events=MISMATCH * 2, of_volume="v"
    ),
    "14-13-1 a volume of block names a claim of files": _both(
        BLOCK, FILES, RESERVED, Claim(), events=MISMATCH * 2, of_volume="v"
    ),
    "14-14 both block": _both(BLOCK, BLOCK, RESERVED, Claim(), of_volume="v"),
    "14-14-1 both files": _both(FILES, FILES, RESERVED, Claim(), of_volume="v"),
}

CASES = FREE_CHOICE | NAMED | WAS_BOUND | OF_VOLUMES | CLASSES | MODES


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
async def test_one_pass_of_the_binder(cluster: ControlPlane, case: Case) -> None:
    await check_pass(cluster.client, case)
