"""``podling up --with``: on the command line, in the configuration file, and as last time."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.cli.common_options import Failure
from podling.cli.options.cluster_configuration import defaults_from
from podling.cli.options.extension_options import chosen_extensions, controllers_of
from podling.cli.up import up


@pytest.mark.parametrize(
    ("text", "last", "chosen"),
    [
        (None, ("kruise",), ("kruise",)),
        ("kruise", (), ("kruise",)),
        ("", ("kruise",), ()),
        ("kruise,kruise:CloneSetShortHash=true", (), ("kruise", "kruise:CloneSetShortHash=true")),
    ],
)
def test_choice_replaces_that_of_the_last_run(
    text: str | None, last: tuple[str, ...], chosen: tuple[str, ...]
) -> None:
    assert chosen_extensions(text, last) == chosen


def test_unknown_extension_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Failure, match=r'--with: extension "nonsense" is not installed; there are: .*kruise'):
        chosen_extensions("nonsense", ())


def test_configuration_file_has_a_list_of_extensions(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    head = "apiVersion: podling.dev/v1alpha1\nkind: ClusterConfiguration\n"
    file.write_text(head + "extensions: [kruise, 'kruise:CloneSetShortHash=true']\n")
    found = defaults_from(file, up.params)["extensions"]
    assert found == ("kruise,kruise:CloneSetShortHash=true",)


def test_controllers_of_extensions_have_names() -> None:
    assert "cloneset-controller" in controllers_of(("kruise",))
    assert controllers_of(()) == ()
