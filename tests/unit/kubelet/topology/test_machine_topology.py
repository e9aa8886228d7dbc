"""The machine's topology, read from folders that look like sysfs."""

from __future__ import annotations

from pathlib import Path

from podling.kubelet.topology.machine_topology import Cpu, NumaNode, read_huge_pages, read_topology


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def two_nodes(sysfs: Path) -> None:
    """Write a machine with two sockets of one core with two CPUs each; the second node has huge pages."""
    for number in range(4):
        socket = number % 2
        place = sysfs / "cpu" / f"cpu{number}" / "topology"
        write(place / "thread_siblings_list", f"{socket},{socket + 2}")
        write(place / "physical_package_id", str(socket))
    for node in range(2):
        folder = sysfs / "node" / f"node{node}"
        write(folder / "cpulist", f"{node},{node + 2}")
        write(folder / "meminfo", f"Node {node} MemTotal:       {(node + 1) * 1024} kB")
        write(folder / "distance", "10 20" if node == 0 else "20 10")
        write(folder / "hugepages" / "hugepages-2048kB" / "nr_hugepages", str(node * 3))


def test_topology_is_read_from_sysfs(tmp_path: Path) -> None:
    two_nodes(tmp_path)
    found = read_topology(frozenset(range(4)), 0, tmp_path)
    assert found.cpus == {0: Cpu(0, 0, 0), 1: Cpu(1, 1, 1), 2: Cpu(0, 0, 0), 3: Cpu(1, 1, 1)}
    assert found.nodes == {
        0: NumaNode(1 << 20, {2 << 20: 0}, (10, 20)),
        1: NumaNode(2 << 20, {2 << 20: 6 << 20}, (20, 10)),
    }
    assert (found.numa_nodes, found.sockets, found.cpus_per_core) == ((0, 1), (0, 1), 2)
    assert found.with_siblings({0}) == {0, 2}


def test_only_usable_cpus_are_in_the_topology(tmp_path: Path) -> None:
    two_nodes(tmp_path)
    assert read_topology(frozenset({1, 2}), 0, tmp_path).all_cpus == {1, 2}


def test_machine_without_sysfs_is_one_node(tmp_path: Path) -> None:
    found = read_topology(frozenset({0, 1}), 1 << 30, tmp_path / "absent")
    assert found.cpus == {0: Cpu(0), 1: Cpu(1)}
    assert found.nodes == {0: NumaNode(1 << 30)}


def test_huge_pages_of_all_sizes_are_read(tmp_path: Path) -> None:
    write(tmp_path / "hugepages-2048kB" / "nr_hugepages", "10")
    write(tmp_path / "hugepages-1048576kB" / "nr_hugepages", "1")
    write(tmp_path / "other" / "nr_hugepages", "1")
    assert read_huge_pages(tmp_path) == {2 << 20: 20 << 20, 1 << 30: 1 << 30}
