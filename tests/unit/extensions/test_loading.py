"""Finding extensions by name."""

from __future__ import annotations

import pytest

from podling.extensions.loading import UnknownExtension, entries_of, extensions_of, installed


def test_entries_are_separated_by_commas() -> None:
    assert entries_of(" kruise, other:A=true ,,") == ("kruise", "other:A=true")


def test_own_extensions_are_installed() -> None:
    assert "kruise" in installed()


def test_each_extension_is_made_once_with_its_feature_gates() -> None:
    (found,) = extensions_of(["kruise", "kruise:CloneSetPartitionRollback=true", "kruise"])
    assert found.name == "kruise"
    assert found.features["CloneSetPartitionRollback"] is True
    assert found.features["CloneSetShortHash"] is False


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("nonsense", 'extension "nonsense" is not installed; there are: '),
        ("", 'extension "" is not installed'),
        (
            "kruise:Nonsense=true",
            'extension "kruise" has no feature gate Nonsense; it has: CloneSetPartition',
        ),
        ("kruise:CloneSetShortHash", "a feature gate is written NAME:GATE=true or NAME:GATE=false"),
        ("kruise:CloneSetShortHash=1", "a feature gate is written NAME:GATE=true or NAME:GATE=false"),
    ],
)
def test_unknown_names_are_refused(entry: str, text: str) -> None:
    with pytest.raises(UnknownExtension) as caught:
        extensions_of([entry])
    assert text in str(caught.value)
