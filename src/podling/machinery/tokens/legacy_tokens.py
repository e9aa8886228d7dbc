"""Labels and dates with which the use of service account tokens in Secrets is tracked.

Upstream: ``pkg/serviceaccount/legacy.go`` and ``pkg/controlplane/controller/legacytokentracking``.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

SECRET_TYPE = "kubernetes.io/service-account-token"
ACCOUNT_NAME = "kubernetes.io/service-account.name"
ACCOUNT_UID = "kubernetes.io/service-account.uid"
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"

TRACKING_NAMESPACE = "kube-system"
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
"""The ConfigMap that states since when uses are tracked."""
SINCE = "since"

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def date_text(moment: datetime) -> str:
    """Return the date of a moment, in UTC, as ``2006-01-02``."""
    return moment.astimezone(UTC).date().isoformat()


def date_of(text: str) -> date | None:
    """Return the date that a text is; None for any other text."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
