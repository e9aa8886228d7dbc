"""Lives of pods drawn as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from podling.cli.timeline_model import Lane, Mark, Timeline
from podling.cli.timeline_svg import svg
from podling.cli.timeline_text import lines
from tests.support.timelines import BORN, everything

SVG = "{http://www.w3.org/2000/svg}"


def titles(root: ElementTree.Element) -> Sequence[str | None]:
    return [element.text for element in root.iter(f"{SVG}title")]


def test_picture_is_valid_and_holds_every_lane() -> None:
    root = ElementTree.fromstring(svg(everything()))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"pod", "main", "shop/web: Running", "CrashLoopBackOff", "K", "T"} <= set(texts)
    assert "Unhealthy: Unhealthy & <said>" in titles(root)
    assert "back-off: CrashLoopBackOff (10s)" in titles(root)


def test_picture_escapes_any_text() -> None:
    odd = Mark(at=BORN, reason="Unhealthy", text="\x00\x1b[31m]]> & <b>", count=3)
    drawn = Timeline(
        pod="web",
        namespace="shop",
        status="Running",
        start=BORN,
        end=BORN,
        lanes=(Lane(name="pod", marks=(odd,)),),
    )
    assert "Unhealthy x3: [31m]]> & <b>" in titles(ElementTree.fromstring(svg(drawn)))
    assert list(lines(drawn, 80))
