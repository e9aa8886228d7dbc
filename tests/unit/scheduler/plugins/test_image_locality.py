"""The ImageLocality plugin."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import (
    ContainerImage,
)
from podling.scheduler.plugins import image_locality
from tests.unit.scheduler.scheduling import (
    cache_of,
    container,
    facts,
    node,
    scores,
)


class TestImageLocality:
    MIB = 1024 * 1024

    def test_a_node_with_the_image_wins_and_images_everywhere_count_more(self) -> None:
        half = ContainerImage(names=("app:1",), size_bytes=1000 * self.MIB)
        everywhere = ContainerImage(names=("base:1",), size_bytes=1000 * self.MIB)
        cache = cache_of(node("a", images=[half, everywhere]), node("b", images=[everywhere]))
        plugin = image_locality.ImageLocality()
        assert scores(plugin, facts(containers=[container(image="base:1")]), cache) == {"a": 100, "b": 100}
        # Spread over half of the nodes the image counts half: (500 - 23) / (1000 - 23).
        assert scores(plugin, facts(containers=[container(image="app:1")]), cache) == {"a": 48, "b": 0}

    def test_small_images_do_not_matter(self) -> None:
        cache = cache_of(node("a", images=[ContainerImage(names=("tiny:1",), size_bytes=20 * self.MIB)]))
        one = facts(containers=[container(image="tiny:1")])
        assert scores(image_locality.ImageLocality(), one, cache) == {"a": 0}

    @pytest.mark.parametrize(
        ("image", "name"),
        [
            ("app", "app:latest"),
            ("app:1", "app:1"),
            ("registry:5000/app", "registry:5000/app:latest"),
            ("registry:5000/app:1", "registry:5000/app:1"),
            ("app@sha256:0f", "app@sha256:0f"),
        ],
    )
    def test_an_image_without_a_tag_means_latest(self, image: str, name: str) -> None:
        assert image_locality.with_tag(image) == name

    @pytest.mark.parametrize(
        ("images", "first_images", "nodes", "expected"),
        [
            ((40, 250), (), ((40, 300, 2000), (250, 10)), [0, 5]),
            ((40, 300), (), ((40, 300, 2000), (250, 10)), [7, 0]),
            ((10, 4000), (), ((4000, 30), (250, 10)), [100, 0]),
            ((10, 4000), (), ((4000, 30), (250, 10), ()), [66, 0, 0]),
            ((300, 600, 900), (), ((600, 40, 900), (300, 600, 900), ()), [32, 36, 0]),
            ((30, 40), (), ((20, 30, 40), (4000, 30)), [1, 0]),
            ((30,), (300,), ((40, 300, 2000), (20, 30, 40)), [6, 0]),
            ((80,), (), ((80, 300), (300, 80), (600, 80, 900)), [5, 5, 5]),
            ((300,), (), ((80, 300), (300, 80), (600, 80, 900)), [18, 18, 0]),
        ],
    )
    def test_images_count_by_size_and_by_spread(
        self,
        images: tuple[int, ...],
        first_images: tuple[int, ...],
        nodes: tuple[tuple[int, ...], ...],
        expected: list[int],
    ) -> None:
        """The cases of ``image_locality_test.go``; an image is named after its size in MiB."""
        cache = cache_of(
            *(
                node(str(number), images=[self._image(size) for size in sizes])
                for number, sizes in enumerate(nodes)
            )
        )
        one = facts(
            containers=[container(image=f"gcr.io/{size}") for size in images],
            init_containers=tuple(container(image=f"gcr.io/{size}") for size in first_images),
        )
        found = scores(image_locality.ImageLocality(), one, cache)
        assert found is not None
        assert list(found.values()) == expected

    def _image(self, size: int) -> ContainerImage:
        return ContainerImage(names=(f"gcr.io/{size}:latest",), size_bytes=size * self.MIB)
