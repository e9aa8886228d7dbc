"""The kubelet's configuration from a file and its drop-in directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.kubelet.configuration.files import load
from podling.kubelet.configuration.refused import ConfigurationRefused

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_nothing_given_sets_nothing() -> None:
    assert load(None, None) == {}


def test_drop_ins_are_merged_in_the_order_of_their_names(tmp_path: Path) -> None:
    file = write(tmp_path / "config.yaml", HEAD + "maxPods: 10\nevictionHard: {memory.available: 1Mi}\n")
    folder = tmp_path / "drop-ins"
    write(folder / "20-b.conf", HEAD + "maxPods: 30\nclusterDNS: [192.0.2.2]\n")
    write(folder / "10-a.conf", HEAD + "maxPods: 20\nclusterDNS: [192.0.2.1]\npodsPerCore: 5\n")
    write(folder / "deeper" / "30-c.conf", HEAD + "evictionHard: {nodefs.available: 1%}\n")
    write(folder / "40-ignored.yaml", HEAD + "maxPods: 40\n")
    assert load(file, folder) == {
        "max_pods": 30,
        "pods_per_core": 5,
        "cluster_dns": ("192.0.2.2",),
        "eviction_hard": {"memory.available": "1Mi", "nodefs.available": "1%"},
    }


def test_relative_path_refers_to_the_folder_of_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "here" / "config.yaml", HEAD + "staticPodPath: manifests\n")
    assert load(file, None) == {"static_pod_path": tmp_path / "here" / "manifests"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "was empty"),
        (HEAD + "maxPodz: 3\n", 'strict decoding error: unknown field "maxPodz"'),
        (HEAD + "maxPods: 3\nmaxPods: 4\n", 'key "maxPods" already set in map'),
        (HEAD + "logging: {colour: red}\n", 'unknown field "logging.colour"'),
        (HEAD + "maxPods: many\n", "KubeletConfiguration.maxPods of type int32"),
        (HEAD + "syncFrequency: soon\n", 'syncFrequency: time: invalid duration "soon"'),
        (HEAD + "shutdownGracePeriod: soon\n", 'time: invalid duration "soon"'),
        (HEAD.replace("v1beta1", "v1"), "no kind"),
        ("apiVersion: v1\nkind: Pod\n", "cannot be handled as a KubeletConfiguration"),
        ("maxPods: 3\n", "Object 'Kind' is missing in"),
        (HEAD + "maxPods: -1\nport: 70000\n", "[invalid configuration: maxPods (--max-pods) -1 must not be"),
        (HEAD + "readOnlyPort: 10255\n", "field readOnlyPort is not supported"),
        (HEAD + "featureGates: {NoSuch: true}\n", "unrecognized feature gate: NoSuch"),
        ("{", "error converting YAML to JSON"),
    ],
)
def test_bad_file_is_refused_with_its_path(tmp_path: Path, text: str, words: str) -> None:
    file = write(tmp_path / "config.yaml", text)
    with pytest.raises(ConfigurationRefused) as refused:
        load(file, None)
    assert words in str(refused.value)
    assert str(file) in str(refused.value)


def test_bad_drop_in_is_named(tmp_path: Path) -> None:
    write(tmp_path / "10.conf", HEAD + "colour: red\n")
    with pytest.raises(ConfigurationRefused, match=r"10\.conf.*unknown field \"colour\""):
        load(None, tmp_path)


@pytest.mark.parametrize("file", ["config.yaml", None])
def test_missing_file_or_directory_is_refused(tmp_path: Path, file: str | None) -> None:
    with pytest.raises(ConfigurationRefused, match=r"[Nn]o such"):
        load(tmp_path / file if file else None, None if file else tmp_path / "absent")
