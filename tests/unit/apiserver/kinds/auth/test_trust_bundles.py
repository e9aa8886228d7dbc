"""ClusterTrustBundles: the cases of upstream's ``TestValidateClusterTrustBundle``; table and selector."""

from __future__ import annotations

import pytest

from podling.api.certificates_v1beta1 import ClusterTrustBundle
from podling.client.requests import User
from podling.testing.control_plane import memory_cluster
from tests.support.causes import SUBDOMAIN_TEXT, Cause, invalid, too_long
from tests.support.manifests import NOW, change_causes, creation_causes, rules
from tests.support.trust_bundles import block, bundle, der

GATES = {"ClusterTrustBundle": True}
NAME, SIGNER, BUNDLE = "metadata.name", "spec.signerName", "spec.trustBundle"
COLON = 'ClusterTrustBundle without signer name must not have ":" in its name'
NOTHING = "at least one trust anchor must be provided"


GOOD, OTHER = block(der("root1")), block(der("root2"))


def omitted(text: str) -> Cause:
    return invalid(BUNDLE, '"<value omitted>"', text)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (bundle("foo"), []),
        (bundle("foo", text=f"{GOOD}\n" * ((1 << 20) // len(GOOD) + 1)), [too_long(BUNDLE, 1 << 20)]),
        (bundle("k8s.io:bar:foo"), [invalid(NAME, '"k8s.io:bar:foo"', COLON)]),
        (bundle("k8s.io:foo:bar", "k8s.io/foo"), []),
        (
            bundle("look-ma-no-prefix", "k8s.io/foo"),
            [
                invalid(
                    NAME,
                    '"look-ma-no-prefix"',
                    "ClusterTrustBundle for signerName k8s.io/foo must be named with prefix k8s.io:foo:",
                )
            ],
        ),
        (bundle("k8s.io:foo:", "k8s.io/foo"), [invalid(NAME, '"k8s.io:foo:"', SUBDOMAIN_TEXT)]),
        (
            bundle("k8s.io:foo:123notvalidDNSSubdomain", "k8s.io/foo"),
            [invalid(NAME, '"k8s.io:foo:123notvalidDNSSubdomain"', SUBDOMAIN_TEXT)],
        ),
        (bundle("k8s.io:foo:abc", "k8s.io/foo", f"garbage\n{GOOD}\ngarbage\n{OTHER}"), []),
        (bundle("foo", text=""), [omitted(NOTHING)]),
        (bundle("k8s.io:foo:abc", "k8s.io/foo", ""), [omitted(NOTHING)]),
        (
            bundle("invalid:foo", "invalid"),
            [
                invalid(
                    SIGNER,
                    '"invalid"',
                    "must be a fully qualified domain and path of the form 'example.com/signer-name'",
                )
            ],
        ),
        (bundle("foo", text="non block garbage"), [omitted(NOTHING)]),
        (
            bundle("foo", text=f"{GOOD}\n{block(der('root1'), 'NOTACERTIFICATE')}"),
            [omitted("entry 1 has bad block type: NOTACERTIFICATE")],
        ),
        (
            bundle("foo", text=f"{GOOD}\n{block(der('root1'), headers='key: value' + chr(10) * 2)}"),
            [omitted("entry 1 has PEM block headers")],
        ),
        (
            bundle("foo", text=block(der("root3", is_ca=False))),
            [omitted("entry 0 does not have the CA bit set")],
        ),
        (
            bundle("foo", text=GOOD + "\n" + GOOD.replace("\n", "\n\t\n")),
            [omitted("duplicate trust anchor (indices [0 1])")],
        ),
        (
            bundle("foo", text=f"{GOOD}\n{block(b'this is not a certificate')}"),
            [omitted("entry 1 does not parse as X.509")],
        ),
        (bundle("foo", text=f"{GOOD}\n-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n"), []),
    ],
    ids=[
        "without signer",
        "too big",
        "name of a signer",
        "with signer",
        "no prefix",
        "nothing behind the prefix",
        "bad name behind the prefix",
        "text between the blocks",
        "empty",
        "empty with signer",
        "bad signer",
        "no block",
        "another kind of block",
        "headers",
        "no authority",
        "twice",
        "no certificate",
        "no base64 is no block",
    ],
)
def test_bundle_is_validated(made: ClusterTrustBundle, expected: list[Cause]) -> None:
    """An update that leaves the certificates does not read them again."""
    assert creation_causes(made) == expected
    assert change_causes(made, made) == [each for each in expected if each[0] != BUNDLE]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (
            bundle("k8s.io:foo:bar", "k8s.io/bar"),
            [
                invalid(
                    NAME,
                    '"k8s.io:foo:bar"',
                    "ClusterTrustBundle for signerName k8s.io/bar must be named with prefix k8s.io:bar:",
                ),
                invalid(SIGNER, '"k8s.io/bar"', "field is immutable"),
            ],
        ),
        (bundle("k8s.io:foo:bar", "k8s.io/foo", f"{GOOD}\n{OTHER}"), []),
        (bundle("k8s.io:foo:bar", "k8s.io/foo", ""), [omitted(NOTHING)]),
        (bundle("k8s.io:foo:bar", "k8s.io/foo", "non block garbage"), [omitted(NOTHING)]),
    ],
    ids=["other signer", "more certificates", "emptied", "no block"],
)
def test_change_of_a_bundle_is_validated(new: ClusterTrustBundle, expected: list[Cause]) -> None:
    """The cases of upstream's ``TestValidateClusterTrustBundleUpdate``."""
    assert change_causes(new, bundle("k8s.io:foo:bar", "k8s.io/foo")) == expected


def test_table_has_the_signer() -> None:
    own = rules(ClusterTrustBundle)
    assert [each.name for each in own.columns] == ["Name", "SignerName"]
    assert own.row(bundle("foo"), NOW) == ("foo", "<none>")
    assert own.row(bundle("k8s.io:foo:bar", "k8s.io/foo"), NOW) == ("k8s.io:foo:bar", "k8s.io/foo")


async def test_service_accounts_may_read_bundles_and_select_them_by_signer() -> None:
    account = User("system:serviceaccount:default:web", ("system:serviceaccounts",))
    async with memory_cluster(feature_gates=GATES) as cluster:
        reader = cluster.client_for(account)
        for made in (bundle("foo"), bundle("k8s.io:foo:bar", "k8s.io/foo")):
            await cluster.client.create(made)
        found = await reader.list(ClusterTrustBundle, field_selector="spec.signerName=k8s.io/foo")
        assert [each.metadata.name for each in found.items] == ["k8s.io:foo:bar"]
