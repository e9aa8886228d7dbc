"""Findings of ``podling doctor``, from the facts of a machine alone."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from podling.cli.doctor import OPTIONAL, Finding, diagnose, disk_space, forwarding
from podling.network.services.kernel_features import missing_features
from podling.runtime.oci.detect import CgroupMode, Facts, choose

GOOD = Facts(
    root=True,
    mode=CgroupMode.UNIFIED,
    controllers=frozenset({"cpu", "memory", "pids"}),
    crun="/usr/bin/crun",
    runc="/usr/sbin/runc",
    conmon="/usr/bin/conmon",
    nsenter="/usr/bin/nsenter",
)
EVERYTHING = dict.fromkeys(OPTIONAL, "/usr/bin/it")


def report(facts: Facts, programs: dict[str, str] = EVERYTHING) -> list[Finding]:
    return diagnose(facts, choose(facts), programs)


def about(subject: str, findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.subject == subject]


def test_a_good_machine_has_nothing_to_complain_of() -> None:
    assert {finding.mark for finding in report(GOOD)} == {"ok"}


def test_a_hybrid_of_cgroups_is_explained_and_worked_around() -> None:
    hybrid = replace(GOOD, mode=CgroupMode.HYBRID, unified_controllers=frozenset({"hugetlb"}))
    (finding,) = about("cgroups", report(hybrid))
    assert finding.mark == "note"
    assert "owns hugetlb" in finding.text
    assert about("oci runtime", report(hybrid))[0].mark == "ok"


def test_without_a_container_runtime_the_package_to_install_is_named() -> None:
    findings = about("oci runtime", report(replace(GOOD, crun="", runc="")))
    assert [(finding.mark, finding.advice) for finding in findings] == [("missing", "apt-get install crun")]
    assert about("process runtime", report(replace(GOOD, conmon="")))


def test_doctor_without_root_reports_every_cause() -> None:
    findings = report(replace(GOOD, root=False, conmon=""))
    assert about("user", findings)[0].advice == "sudo podling up"
    texts = [finding.text for finding in about("oci runtime", findings)]
    assert texts == ["real containers need root", "conmon is not installed"]


def test_kernel_without_nat_says_that_services_are_not_forwarded() -> None:
    assert forwarding([]).mark == "ok"
    lacking = missing_features(lambda text: "dnat" not in text and "numgen" not in text)
    finding = forwarding(lacking)
    assert finding.mark == "missing"
    assert "lacks nat, numgen" in finding.text
    assert finding.advice == "load or build the kernel modules nft_nat, nft_numgen"


def test_a_missing_helper_says_what_is_lost() -> None:
    (finding,) = about("skopeo", report(GOOD, {**EVERYTHING, "skopeo": ""}))
    assert (finding.mark, finding.advice) == ("missing", "apt-get install skopeo")
    assert "images cannot be loaded or pulled" in finding.text


def test_a_full_disk_is_noticed_before_images_do() -> None:
    assert disk_space(Path("/data"), 50_000_000_000) == Finding("ok", "data directory", "/data, 50.0 GB free")
    assert disk_space(Path("/data"), 100_000_000).mark == "note"
