"""Numbers that may be given as a share: ``2`` or ``"25%"``. Pure."""

from __future__ import annotations

from podling.machinery.numbers import INT64_MAX, natural


def scaled(value: int | str | None, total: int, *, round_up: bool) -> int:
    """``value`` as a number, or its share of ``total``. None is 0.

    Raises ValueError for text that is no percentage.
    """
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    share = natural(value.removesuffix("%"), INT64_MAX)
    if share is None or not value.endswith("%"):
        raise ValueError(
            f'invalid value for IntOrString: invalid type: string is not a percentage: "{value}"'
        )
    product = share * total
    return -(-product // 100) if round_up else product // 100
