"""An address belongs to one pod."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podling.network.policy.claims import Claims
from podling.network.policy.values import PolicyPod

ADDRESSES = ("10.0.0.1", "10.0.0.2", "fd00::1")
steps = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.one_of(st.none(), st.tuples(st.lists(st.sampled_from(ADDRESSES), unique=True), st.booleans())),
    ),
    max_size=30,
)


@given(steps)
def test_each_address_that_a_pod_names_belongs_to_one_pod_that_names_it(
    steps: list[tuple[str, tuple[list[str], bool] | None]],
) -> None:
    claims = Claims((4,))
    named: dict[str, list[PolicyPod]] = {address: [] for address in ADDRESSES}
    for key, value in steps:
        new = None
        if value is not None:
            new = PolicyPod(key=key, namespace="x", addresses=tuple(value[0]), local=value[1])
        claims.put(key, new)
        for address, pods in named.items():
            place = next((number for number, pod in enumerate(pods) if pod.key == key), None)
            if new is None or address not in new.addresses:
                pods[:] = [pod for pod in pods if pod.key != key]
            elif place is None:
                pods.append(new)
            else:
                pods[place] = new
    owned = {pod.key: claims.owned(pod) for pod in claims.all()}
    for address, pods in named.items():
        owner = next((pod for pod in reversed(pods) if pod.local), pods[-1] if pods else None)
        expected = [owner.key] if owner is not None and ":" not in address else []
        assert [key for key, addresses in owned.items() if address in addresses] == expected
    assert {pod.key for pod in claims.all()} == set(claims.in_namespace("x"))
