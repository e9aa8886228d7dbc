"""A plain model of one object with several field managers and subresources, and of field ownership."""

from __future__ import annotations

from dataclasses import dataclass, field

Leaf = str
Values = dict[Leaf, str | int]

FIELDS: dict[str, tuple[Leaf, ...]] = {
    "": ("metadata.labels.a", "metadata.labels.b", "spec.size", "spec.mode"),
    "status": ("status.ready", "status.note"),
    "scale": ("spec.size",),
}
"""The fields that a write to each subresource can change; its other fields are ignored."""
LEAVES = tuple(dict.fromkeys(leaf for leaves in FIELDS.values() for leaf in leaves))


@dataclass(frozen=True)
class Write:
    """``verb``: ``update`` has all fields, ``merge`` and ``json`` the changes; or ``apply``, ``force``."""

    subresource: str
    verb: str
    who: str
    values: Values

    @property
    def applies(self) -> bool:
        return self.verb in ("apply", "force")

    @property
    def owner(self) -> str:
        """Return the manager as managedFields identifies it."""
        return " ".join(filter(None, (self.who, "Apply" if self.applies else "Update", self.subresource)))

    @property
    def effective(self) -> Values:
        return {leaf: value for leaf, value in self.values.items() if leaf in FIELDS[self.subresource]}


@dataclass
class Model:
    """``owners`` and ``times``: of each entry of the record, its leaves and the second of its last change.

    A manager that never changed a value has no time.
    """

    values: Values = field(default_factory=dict)
    owners: dict[str, set[Leaf]] = field(default_factory=dict)
    times: dict[str, int | None] = field(default_factory=dict)
    generation: int = 1

    def perform(self, write: Write, now: int) -> set[tuple[str, Leaf]]:
        """Perform the write, or return the conflicting managers and change nothing."""
        if write.applies:
            return self._apply(write, now)
        self._update(write, now)
        return set()

    def _update(self, write: Write, now: int) -> None:
        new = {**self.values, **write.effective}
        if write.verb == "update":
            new = {
                leaf: new[leaf]
                for leaf in new
                if leaf in write.values or leaf not in FIELDS[write.subresource]
            }
        changed = self._take(write.owner, new)
        if changed:
            self.owners.setdefault(write.owner, set()).update(changed)
            self.times[write.owner] = now

    def _apply(self, write: Write, now: int) -> set[tuple[str, Leaf]]:
        said, me = write.effective, write.owner
        conflicts = {
            (owner, leaf)
            for owner, leaves in self.owners.items()
            for leaf in leaves & said.keys()
            if owner != me and self.values.get(leaf) != said[leaf]
        }
        if conflicts and write.verb == "apply":
            return conflicts
        others = {leaf for owner, leaves in self.owners.items() if owner != me for leaf in leaves}
        dropped = self.owners.get(me, set()) - said.keys() - others
        new = {leaf: value for leaf, value in {**self.values, **said}.items() if leaf not in dropped}
        if new != self.values:
            self.times[me] = now
        elif not self.owners.get(me):
            self.times[me] = None
        self._take(me, new)
        self.owners[me] = set(said)
        return set()

    def _take(self, me: str, new: Values) -> set[Leaf]:
        """Make ``new`` the values. Other managers lose changed fields; all managers lose removed fields."""
        changed = {leaf for leaf in new if self.values.get(leaf) != new[leaf]}
        gone = self.values.keys() - new.keys()
        for owner, leaves in self.owners.items():
            leaves -= gone if owner == me else gone | changed
        if any(leaf.startswith("spec.") for leaf in changed | gone):
            self.generation += 1
        self.values = new
        return changed

    def record(self) -> dict[str, tuple[set[Leaf], int | None]]:
        return {owner: (leaves, self.times[owner]) for owner, leaves in self.owners.items() if leaves}
