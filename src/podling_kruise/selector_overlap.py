"""Selectors that may select the same objects. Pure. Upstream: ``pkg/util/selector.go``."""

from __future__ import annotations

from typing import Any

from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement


def selectors_overlap(one: LabelSelector, other: LabelSelector) -> bool:
    """Return whether some object may match both selectors. Source: ``IsSelectorOverlapping``."""
    return not (_excludes(one, other) or _excludes(other, one))


def _excludes(one: LabelSelector, other: LabelSelector) -> bool:
    """Return whether what ``one`` requires contradicts ``other``."""
    wanted: dict[str, Any] = {key: [value] for key, value in one.match_labels.items()}
    for each in one.match_expressions:
        if each.operator == "In":
            wanted.setdefault(each.key, []).extend(each.values)
        elif each.operator == "Exists":
            wanted[each.key] = None  # any value
    for key, value in other.match_labels.items():
        if wanted.get(key) is not None and value not in wanted[key]:
            return True
    for each in other.match_expressions:
        values = wanted.get(each.key)
        known = each.key in wanted
        contradicts = {
            "In": values is not None and not set(values) & set(each.values),
            "NotIn": values is not None and set(values) <= set(each.values),
            "Exists": not known,
            "DoesNotExist": known,
        }
        if contradicts.get(each.operator, False):
            return True
    return False


def selectors_loosely_overlap(one: LabelSelector, other: LabelSelector) -> bool:
    """Return whether both selectors are about the same labels, and some object may match both.

    Source: ``IsSelectorLooseOverlap``.
    """
    first, second = _requirements(one), _requirements(other)
    return first.keys() == second.keys() and all(
        _meet(first[key], second[key]) and _meet(second[key], first[key]) for key in first
    )


def _requirements(selector: LabelSelector) -> dict[str, LabelSelectorRequirement]:
    """Return what a selector requires of each label; of several requirements one counts."""
    found = {
        key: LabelSelectorRequirement(key=key, operator="In", values=(value,))
        for key, value in selector.match_labels.items()
    }
    return {**{each.key: each for each in selector.match_expressions}, **found}


def _meet(one: LabelSelectorRequirement, other: LabelSelectorRequirement) -> bool:
    """Return whether a label may fulfil both requirements."""
    mine, theirs = set(one.values), set(other.values)
    possible = {
        "In": {"Exists": True, "In": bool(mine & theirs), "NotIn": not mine <= theirs},
        "Exists": {"Exists": True, "In": True, "NotIn": True},
        "NotIn": {"Exists": True, "NotIn": True, "DoesNotExist": True, "In": not theirs <= mine},
        "DoesNotExist": {"DoesNotExist": True, "NotIn": True},
    }
    return possible.get(one.operator, {}).get(other.operator, False)
