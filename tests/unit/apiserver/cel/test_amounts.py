"""Functions of quantities and semantic versions."""

from __future__ import annotations

import pytest

from tests.support.cel_expressions import evaluated, failure

TRUE = """
isQuantity('1.3G') && isQuantity('1.3Gi') && !isQuantity('1,3G') && !isQuantity('200K') && !isQuantity('Mi')
quantity('200M') == quantity('0.2G') && quantity('2000k') == quantity('2M')
quantity('200M') != quantity('0.3G')
quantity('50M').isLessThan(quantity('50Mi')) && quantity('50Mi').isGreaterThan(quantity('50M'))
quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50M').compareTo(quantity('50Mi')) == -1
quantity('50k').add(quantity('20')) == quantity('50.02k') && quantity('50k').add(20) == quantity('50020')
quantity('50k').sub(quantity('20k')) == quantity('30k') && quantity('50k').sub(20) == quantity('49980')
quantity('50k').asInteger() == 50000 && quantity('50').isInteger() && !quantity('0.5').isInteger()
!quantity('9999999999999999999999999999999999999G').isInteger()
quantity('50.703k').asApproximateFloat() == 50703.0
sign(quantity('-3')) == -1 && sign(quantity('0')) == 0 && sign(quantity('1m')) == 1
quantity('1n') != quantity('2n')
isSemver('1.2.3-beta.1+build.1') && !isSemver('v1.0.0') && !isSemver('1.0') && !isSemver('01.01.01')
!isSemver('')
isSemver('v1.0.0', true) && isSemver('01.01.01', true) && isSemver('1', true) && !isSemver(' 1.0.0', true)
semver('v01.01', true) == semver('1.1.0') && semver('1.2.3').compareTo(semver('2.0.0')) == -1
semver('1.0.0').isLessThan(semver('1.2.3')) && semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1'))
semver('1.0.0-alpha.1').isLessThan(semver('1.0.0-alpha.beta'))
semver('1.0.0-2').isLessThan(semver('1.0.0-10'))
semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3
""".strip().splitlines()


@pytest.mark.parametrize("text", TRUE)
def test_function_of_amounts_returns_its_documented_value(text: str) -> None:
    assert evaluated(text) is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("quantity('10Mm').isInteger()", "unable to parse quantity's suffix"),
        ("quantity('9999999999999999999999G').asInteger() == 1", "cannot convert value to integer"),
        ("semver('v1.0').major() == 1", "No Major.Minor.Patch elements found"),
        ("semver('').major() == 1", "Version string empty"),
        ("semver('1.02.3').major() == 1", 'Minor number must not contain leading zeroes "02"'),
        ("semver('1.0-rc', true).major() == 1", "short version cannot contain PreRelease/Build meta data"),
    ],
)
def test_unreadable_amount_is_an_error(text: str, why: str) -> None:
    assert failure(text) == why
