"""Authentication and authorisation: users of several roles, wrong credentials, reviews."""

from __future__ import annotations

from collections.abc import Sequence

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario.kinds import Kind

USERS: dict[str, tuple[str, Sequence[str]]] = {
    "viewer": ("view", ()),
    "editor": ("edit", ()),
    "admin": ("admin", ()),
    "stranger": ("nobody-special", ()),
    "node": ("system:node:n1", ("system:nodes",)),
    "scheduler": ("system:kube-scheduler", ()),
    "manager": ("system:kube-controller-manager", ()),
    "robot": ("system:serviceaccount:default:default", ()),
}
PAGES = (
    "/", "/api", "/api/v1/pods", "/apis", "/healthz", "/readyz", "/livez", "/version", "/metrics",
    "/openapi/v2", "/.well-known/openid-configuration", "/openid/v1/jwks",
)  # fmt: skip
AUTHENTICATION, AUTHORIZATION = "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1"


def send_for_users(recorder: Recorder, kinds: Sequence[Kind]) -> None:
    """Send the main verbs of every kind as users of several roles; nothing is stored."""
    recorder.group("roles")
    for title, (user, groups) in USERS.items():
        headers = {"Impersonate-User": user}
        if groups:
            headers["Impersonate-Group"] = ",".join(groups)
        for kind in kinds:
            named, dry = f"{title} {kind.title}", {"dryRun": "All"}
            recorder.sample(f"{named} list", "GET", kind.everywhere, query={"limit": 1}, headers=headers)
            recorder.sample(f"{named} get", "GET", kind.path, headers=headers)
            if kind.valid is not None or kind.verbs == ["create"]:
                recorder.sample(
                    f"{named} create", "POST", kind.collection, kind.body(), query=dry, headers=headers
                )
            recorder.sample(f"{named} delete", "DELETE", kind.path, query=dry, headers=headers)
            for name, _ in kind.subresources:
                recorder.sample(f"{named}/{name} get", "GET", f"{kind.path}/{name}", headers=headers)
        for path in (
            "/",
            "/api",
            "/apis",
            "/healthz",
            "/metrics",
            "/openapi/v3",
            "/version",
            "/logs",
            "/missing",
        ):
            recorder.sample(f"{title} {path}", "GET", path, headers=headers)


def send_credentials(recorder: Recorder) -> None:
    """Send requests without credentials, with wrong ones, and with a service account's token."""
    recorder.group("credentials")
    for path in PAGES:
        recorder.send(f"anonymous {path}", "GET", path, administrator=False)
        for value in ("Bearer wrong", "Bearer ", "Basic YTpi", "Other x", "Bearer a.b.c"):
            headers = {"Authorization": value}
            recorder.send(f"{value} {path}", "GET", path, administrator=False, headers=headers)
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    token = recorder.send("token", "POST", path, {"spec": {}}).json().get("status", {}).get("token", "")
    headers = {"Authorization": f"Bearer {token}"}
    for target in ("/api", "/api/v1/pods", "/api/v1/namespaces/default/secrets"):
        recorder.send(f"token {target}", "GET", target, administrator=False, headers=headers)
    specs: list[Json] = [{"token": token}, {"token": "x"}, {}, {"token": token, "audiences": ["a"]}]
    for spec in specs:
        recorder.send("token review", "POST", f"{AUTHENTICATION}/tokenreviews", {"spec": spec})
    subject = f"{AUTHENTICATION}/selfsubjectreviews"
    recorder.send("subject of the token", "POST", subject, {}, administrator=False, headers=headers)
    for headers in IMPERSONATIONS:
        recorder.send(
            f"impersonation {sorted(headers)}",
            "POST",
            f"{AUTHENTICATION}/selfsubjectreviews",
            {},
            headers=headers,
        )


IMPERSONATIONS: list[dict[str, str]] = [
    {},
    {"Impersonate-User": "view"},
    {"Impersonate-User": "view", "Impersonate-Group": "team", "Impersonate-Uid": "u1"},
    {"Impersonate-User": "view", "Impersonate-Extra-Scopes": "a", "Impersonate-Extra-a%2fb": "c"},
    {"Impersonate-Group": "team"},
    {"Impersonate-Uid": "u1"},
    {"Impersonate-User": "system:serviceaccount:default:default"},
    {"Impersonate-User": "system:anonymous"},
    {"Impersonate-User": ""},
]


ATTRIBUTES: Json = {"verb": "get", "resource": "pods", "namespace": "default"}
REVIEWED: list[Json] = [
    {},
    {"user": "a"},
    {"user": 1},
    {"resourceAttributes": ATTRIBUTES},
    {"user": "a", "nonResourceAttributes": {"path": "/x"}},
    {"user": "a", "resourceAttributes": ATTRIBUTES, "nonResourceAttributes": {"path": "/x"}},
    {"groups": ["system:masters"], "resourceAttributes": ATTRIBUTES},
    {"user": "a", "resourceAttributes": {**ATTRIBUTES, "labelSelector": {"rawSelector": "a in ("}}},
    {"user": "a", "resourceAttributes": {**ATTRIBUTES, "fieldSelector": {"requirements": [{"key": "a"}]}}},
]


def send_reviews(recorder: Recorder, kinds: Sequence[Kind]) -> None:
    """Send reviews of access: for every kind and role, and malformed ones."""
    recorder.group("reviews")
    for user in ("view", "edit", "admin", "nobody-special", "system:node:n1"):
        for kind in kinds:
            group, _, version = kind.group_version.rpartition("/")
            attributes: Json = {
                "verb": "update",
                "group": group,
                "version": version,
                "resource": kind.resource,
            }
            for namespace in ("", "default"):
                spec = {"user": user, "resourceAttributes": {**attributes, "namespace": namespace}}
                path = f"{AUTHORIZATION}/subjectaccessreviews"
                recorder.sample(f"{user} {kind.title}", "POST", path, {"spec": spec})
        headers = {"Impersonate-User": user}
        rules = {"spec": {"namespace": "default"}}
        recorder.sample(
            f"rules of {user}", "POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", rules, headers=headers
        )
    for spec in REVIEWED:
        for resource in ("subjectaccessreviews", "selfsubjectaccessreviews"):
            recorder.sample(f"{resource} {spec}", "POST", f"{AUTHORIZATION}/{resource}", {"spec": spec})
        path = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
        recorder.sample(f"local {spec}", "POST", path, {"spec": spec})
    recorder.sample("rules without namespace", "POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", {})
