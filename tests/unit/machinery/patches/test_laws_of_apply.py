"""Laws of server-side apply: a plain model of values and owners; owners who do not meet commute."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podling.api import apps_v1, core_v1
from podling.machinery.errors import ApiError
from podling.machinery.patches import fieldsets
from podling.machinery.patches.apply import apply, track_update
from podling.machinery.patches.managed_entries import Writer
from tests.support.sequences import sequences

Plain = dict[str, Any]

NOW = datetime(2020, 1, 1, tzinfo=UTC)
WRITERS = ("p", "q", "r")
KEYS = ("a", "b", "c")

data = st.dictionaries(st.sampled_from(KEYS), st.sampled_from("12"), max_size=3)
writes = st.tuples(st.sampled_from(("apply", "force", "update")), st.sampled_from(WRITERS), data)


@dataclass
class Model:
    """``owners``: which keys each ``writer operation`` answers for."""

    live: dict[str, str] = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)

    def apply(self, who: str, intent: dict[str, str], *, force: bool) -> set[tuple[str, str]]:
        """Return the conflicts; where there are any, nothing happens."""
        me = f"{who} Apply"
        changed = {key for key, value in intent.items() if self.live.get(key) != value}
        conflicts = {
            (owner, key) for owner, keys in self.owners.items() if owner != me for key in keys & changed
        }
        if conflicts and not force:
            return conflicts
        self._yield_to(me, changed)
        last, self.owners[me] = self.owners.get(me, set()), set(intent)
        for key in last - self._owned():
            del self.live[key]
        self.live.update(intent)
        return set()

    def update(self, who: str, new: dict[str, str]) -> None:
        me = f"{who} Update"
        changed = {key for key, value in new.items() if self.live.get(key) != value}
        self._yield_to(me, changed | self.live.keys() - new.keys())
        mine = self.owners.get(me, set())
        self.owners[me] = (mine | changed) & new.keys()
        self.live = dict(new)

    def shown(self) -> dict[str, set[str]]:
        return {owner: keys for owner, keys in self.owners.items() if keys}

    def _yield_to(self, me: str, keys: set[str]) -> None:
        for owner in self.owners:
            if owner != me:
                self.owners[owner] -= keys

    def _owned(self) -> set[str]:
        return set().union(*self.owners.values())


def config_map(values: dict[str, str]) -> Plain:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}}
    return {**head, "data": values} if values else head


def tried(live: Plain, intent: Plain, writer: Writer, *, force: bool) -> tuple[Plain, list[str]]:
    """Return the result of an apply in the model, and the fields in conflict."""
    try:
        return apply(live, intent, core_v1.ConfigMap, writer, force=force), []
    except ApiError as error:
        causes = error.status.details.causes if error.code == 409 and error.status.details else ()
        return live, [cause.field_ or "" for cause in causes]


def owners_of(obj: Plain) -> dict[str, set[str]]:
    """Return the record, in the words of the model: the fields of ``data`` alone."""
    found = {}
    for entry in obj["metadata"].get("managedFields", ()):
        paths = map(fieldsets.text_of, fieldsets.decode(entry["fieldsV1"]))
        keys = {path.removeprefix(".data.") for path in paths if path.startswith(".data.")}
        if keys:
            found[f"{entry['manager']} {entry['operation']}"] = keys
    return found


@given(sequences(writes, 16))
def test_any_history_of_writes_is_that_of_a_plain_model(
    history: list[tuple[str, str, dict[str, str]]],
) -> None:
    model, live = Model(), apply(None, config_map({}), core_v1.ConfigMap, Writer("maker", NOW, "v1"))
    for minute, (kind, who, values) in enumerate(history):
        writer = Writer(who, NOW + timedelta(minutes=minute), "v1")
        if kind == "update":
            metadata = live["metadata"]
            live = track_update(live, {**config_map(values), "metadata": metadata}, core_v1.ConfigMap, writer)
            model.update(who, values)
        else:
            force = kind == "force"
            live, conflicts = tried(live, config_map(values), writer, force=force)
            expected = model.apply(who, values, force=force)
            assert sorted(conflicts) == sorted(f".data.{key}" for _, key in expected)
        assert (live.get("data") or {}) == model.live
        assert owners_of(live) == model.shown()


PARTS = ("image", "workingDir")
leaves: list[tuple[str, tuple[str, ...], Any]] = [
    ("replicas", ("spec", "replicas"), 2),
    *((f"label {key}", ("metadata", "labels", key), "v") for key in KEYS),
    *(
        (f"{name} {part}", ("containers", name, part), "v")
        for name in "xy"
        for part in ("image", "workingDir")
    ),
]
shares = st.tuples(*(st.sampled_from((None, *WRITERS)) for _ in leaves))


def intent_of(who: str, share: tuple[str | None, ...]) -> Plain:
    """Generate one writer's intent: leaves of its own, and the keys of the items around them."""
    obj: Plain = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    items: dict[str, Plain] = {}
    for (_, path, value), owner in zip(leaves, share, strict=True):
        if owner != who:
            continue
        if path[0] == "containers":
            items.setdefault(path[1], {"name": path[1]})[path[2]] = value
            continue
        inner = obj
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = value
    if items:
        obj.setdefault("spec", {})["template"] = {"spec": {"containers": list(items.values())}}
    return obj


def unordered(obj: Plain) -> Any:
    """Return an object without the order of its containers, and what each writer owns of it."""
    spec = dict(obj.get("spec") or {})
    template = spec.pop("template", None) or {"spec": {"containers": []}}
    items = {each["name"]: each for each in template["spec"]["containers"]}
    owners = {
        each["manager"]: frozenset(fieldsets.decode(each["fieldsV1"]))
        for each in obj["metadata"].get("managedFields", ())
    }
    return obj["metadata"].get("labels"), spec, items, owners


def applied(live: Plain | None, who: str, intent: Plain) -> Any:
    return apply(live, intent, apps_v1.Deployment, Writer(who, NOW, "apps/v1"))


@given(shares)
def test_disjoint_owners_commute(share: tuple[str | None, ...]) -> None:
    """No writer needs force, the order of applies does not matter, and each can withdraw alone."""
    results = []
    for order in permutations(WRITERS):
        live: Any = None
        for who in order:
            live = applied(live, who, intent_of(who, share))
        results.append(unordered(live))
    assert all(result == results[0] for result in results)

    for who in WRITERS:
        others = tuple(None if owner == who else owner for owner in share)
        rest: Any = None
        for other in WRITERS:
            rest = applied(rest, other, intent_of(other, others))
        assert unordered(applied(live, who, intent_of(who, others)))[:3] == unordered(rest)[:3]
