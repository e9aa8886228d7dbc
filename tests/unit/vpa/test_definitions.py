"""The definitions are upstream's: names, columns, required fields."""

from __future__ import annotations

from podling_vpa.definitions import NAME, autoscaler_definition, checkpoint_definition


def test_autoscalers_have_the_names_and_columns_of_upstream() -> None:
    found = autoscaler_definition()
    assert found.metadata.name == NAME == "verticalpodautoscalers.autoscaling.k8s.io"
    assert found.spec.names.short_names == ("vpa",)
    (version,) = found.spec.versions
    columns = [each.name for each in version.additional_printer_columns]
    assert columns == ["Mode", "CPU", "Mem", "Provided", "Age", "MinReplicas", "OOMSeconds"]
    assert version.subresources is not None
    assert version.subresources.status is not None


def test_checkpoints_have_no_subresources() -> None:
    found = checkpoint_definition()
    assert found.spec.names.short_names == ("vpacheckpoint",)
    (version,) = found.spec.versions
    assert version.subresources is None
