"""Cost of an idle cluster: memory of the one process, and its share of a core."""

from __future__ import annotations

import time

from bench.harness import Figure, cluster, cpu_seconds, memory_mib, show

SETTLE_SECONDS = 15
WATCH_SECONDS = 60


def main() -> None:
    with cluster() as running:
        time.sleep(SETTLE_SECONDS)
        before = cpu_seconds(running.pid)
        time.sleep(WATCH_SECONDS)
        share = (cpu_seconds(running.pid) - before) / WATCH_SECONDS * 100
        memory = memory_mib(running.pid)
    show(
        [
            Figure("idle memory of the process", memory, "MiB", goal=150 / 1.048576),
            Figure("idle CPU over a minute", share, "% of a core", goal=2),
        ]
    )


if __name__ == "__main__":
    main()
