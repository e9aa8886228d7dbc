"""The page on runtimes names every field that scripts have, and its examples can be read."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from podling.runtime.sim import ContainerScript, PodScript, Run
from podling.runtime.sim.script import ANNOTATION_PREFIX, annotated

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "runtimes.md").read_text()


def test_every_field_of_a_script_is_explained() -> None:
    fields = [
        field.encode_name
        for kind in (ContainerScript, PodScript, Run)
        for field in msgspec.structs.fields(kind)
    ]
    assert [name for name in fields if f"`{name}`" not in PAGE] == []


def test_the_example_is_a_script() -> None:
    (text,) = re.findall(rf"{ANNOTATION_PREFIX}app: '(.*)'", PAGE)
    key = ANNOTATION_PREFIX + "app"
    script = annotated(ContainerScript, key, {key: text})
    assert script == ContainerScript(start_seconds=2, runs=(Run(seconds=30, exit_code=1), Run()))


def test_the_python_example_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/runtimes.md", "exec"), {})
