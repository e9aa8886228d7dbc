"""The configuration of admission plugins from files: decoding, and what is refused.

Cases of Kubernetes' ``TestReadAdmissionConfiguration``, ``TestEmbeddedConfiguration``,
``TestLoadConfiguration`` (ResourceQuota) and ``TestLoadFromData`` (PodSecurity) are among them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.api.core_v1 import ScopedResourceSelectorRequirement
from podling.apiserver.admission.configuration.files import ConfigurationRefused, load
from podling.apiserver.admission.configuration.types import (
    DEFAULT_SETTINGS,
    LimitedResource,
    PluginSettings,
    PodSecurityDefaults,
    PodSecurityExemptions,
)

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
OLD_HEAD = "apiVersion: apiserver.k8s.io/v1alpha1\nkind: AdmissionConfiguration\n"
QUOTA = "{apiVersion: apiserver.config.k8s.io/v1, kind: ResourceQuotaConfiguration"
POD_SECURITY = "{apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration"


def read(tmp_path: Path, text: str) -> PluginSettings:
    file = tmp_path / "admission.yaml"
    file.write_text(text)
    return load(file)


def with_plugin(name: str, configuration: str) -> str:
    return f"{HEAD}plugins: [{{name: {name}, configuration: {configuration}}}]\n"


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigurationRefused) as refused:
        read(tmp_path, text)
    start = f"failed to apply admission: {tmp_path / 'admission.yaml'}: "
    assert str(refused.value).startswith(start)
    return str(refused.value).removeprefix(start)


LIMITED = """
limitedResources:
- apiGroup: ""
  resource: persistentvolumeclaims
  matchContains:
  - .storageclass.storage.k8s.io/requests.storage
- apiGroup: ""
  resource: pods
  matchScopes:
  - scopeName: PriorityClass
    operator: In
    values:
    - cluster-services
"""


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration"),
        ("resourcequota.admission.k8s.io/v1beta1", "Configuration"),
        ("resourcequota.admission.k8s.io/v1alpha1", "Configuration"),
    ],
)
@pytest.mark.parametrize("head", [HEAD, OLD_HEAD])
@pytest.mark.parametrize("is_absolute", [True, False])
def test_quota_is_configured_by_a_file_beside_it(
    tmp_path: Path, version: str, kind: str, head: str, is_absolute: bool
) -> None:
    (tmp_path / "quota.yaml").write_text(f"apiVersion: {version}\nkind: {kind}\n{LIMITED}")
    path = tmp_path / "quota.yaml" if is_absolute else "quota.yaml"
    found = read(tmp_path, f"{head}plugins: [{{name: ResourceQuota, path: {path}}}, {{name: Priority}}]\n")
    scope = ScopedResourceSelectorRequirement(
        scope_name="PriorityClass", operator="In", values=("cluster-services",)
    )
    assert found.resource_quota.limited_resources == (
        LimitedResource(
            resource="persistentvolumeclaims",
            match_contains=(".storageclass.storage.k8s.io/requests.storage",),
        ),
        LimitedResource(resource="pods", match_scopes=(scope,)),
    )
    assert found.pod_security == DEFAULT_SETTINGS.pod_security


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_pod_security_is_configured_inside_of_the_file(tmp_path: Path, version: str) -> None:
    defaults = "{enforce: baseline, enforce-version: v1.7, warn: ''}"
    exempt = "{usernames: [alice, bob], namespaces: [kube-system], runtimeClasses: [special]}"
    head = POD_SECURITY.replace("/v1,", f"/{version},")
    text = with_plugin("PodSecurity", f"{head}, defaults: {defaults}, exemptions: {exempt}}}")
    found = read(tmp_path, text).pod_security
    assert found.defaults == PodSecurityDefaults(enforce="baseline", enforce_version="v1.7")
    assert found.exemptions == PodSecurityExemptions(
        usernames=("alice", "bob"), namespaces=("kube-system",), runtime_classes=("special",)
    )


def test_configuration_wins_over_a_path(tmp_path: Path) -> None:
    inside = f"{POD_SECURITY}, defaults: {{warn: restricted}}}}"
    text = f"{HEAD}plugins: [{{name: PodSecurity, path: no-file, configuration: {inside}}}]\n"
    assert read(tmp_path, text).pod_security.defaults.warn == "restricted"


def test_plugins_without_configuration_have_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")
    assert read(tmp_path, HEAD) == DEFAULT_SETTINGS
    named = "plugins: [{name: ResourceQuota}, {name: PodSecurity, path: empty.yaml}]\n"
    assert read(tmp_path, HEAD + named) == DEFAULT_SETTINGS


READ = "failed to read plugin config: "
QUOTA_INIT = 'couldn\'t init admission plugin "ResourceQuota": '
POD_SECURITY_INIT = 'couldn\'t init admission plugin "PodSecurity": '
INVALID = 'failed to initialize admission plugin "PodSecurity": PodSecurity invalid: '


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", f"{READ}Object 'Kind' is missing in ''"),
        (
            "kind: AdmissionConfiguration",
            f"{READ}Object 'apiVersion' is missing in 'kind: AdmissionConfiguration'",
        ),
        ("apiVersion: v1\nkind: Pod\n", f'{READ}no kind "Pod" is registered for version "v1"'),
        (HEAD + "plugin: []\n", f'{READ}strict decoding error: unknown field "plugin"'),
        (
            HEAD + "plugins: []\nplugins: []\n",
            f"{READ}strict decoding error: yaml: unmarshal errors:\n"
            '  line 4: key "plugins" already set in map',
        ),
        (HEAD + "plugins: [{name: EventRateLimit}]\n", "unknown admission plugin: EventRateLimit"),
        (HEAD + "plugins: [{}]\n", "unknown admission plugin: "),
        (
            HEAD + "plugins: [{name: PodSecurity}, {name: PodSecurity}]\n",
            f'{READ}plugins[1].name: Duplicate value: "PodSecurity"',
        ),
        (
            with_plugin("Priority", "{}"),
            'couldn\'t init admission plugin "Priority": it takes no configuration',
        ),
        (with_plugin("ResourceQuota", "{}"), f"{QUOTA_INIT}Object 'Kind' is missing in '{{}}'"),
        (
            with_plugin("ResourceQuota", "{kind: Unknown, apiVersion: v1}"),
            f'{QUOTA_INIT}no kind "Unknown" is registered for version "v1"',
        ),
        (
            with_plugin("ResourceQuota", f"{QUOTA}, limited: []}}"),
            f'{QUOTA_INIT}strict decoding error: unknown field "limited"',
        ),
        (
            with_plugin("ResourceQuota", f"{QUOTA}, limitedResources: [{{matchContains: [requests.cpu]}}]}}"),
            f"{QUOTA_INIT}limitedResources[0].resource: Required value",
        ),
        (
            with_plugin("PodSecurity", "{kind: PodSecurityConfiguration}"),
            f"{POD_SECURITY_INIT}Object 'apiVersion' is missing in "
            '\'{"kind":"PodSecurityConfiguration"}\'',
        ),
        (
            with_plugin("PodSecurity", POD_SECURITY.replace("/v1,", "/v99,") + "}"),
            f'{POD_SECURITY_INIT}no kind "PodSecurityConfiguration" is registered for version '
            '"pod-security.admission.config.k8s.io/v99"',
        ),
        (
            with_plugin("PodSecurity", POD_SECURITY.replace("PodSec", "Some") + "}"),
            f'{POD_SECURITY_INIT}no kind "SomeurityConfiguration" is registered for version '
            '"pod-security.admission.config.k8s.io/v1"',
        ),
        (
            with_plugin("PodSecurity", f"{POD_SECURITY}, deflaults: {{enforce: baseline}}}}"),
            f'{POD_SECURITY_INIT}strict decoding error: unknown field "deflaults"',
        ),
        (
            with_plugin("PodSecurity", f"{POD_SECURITY}, defaults: {{enforce: strict}}}}"),
            f'{INVALID}defaults.enforce: Invalid value: "strict": must be one of privileged, baseline, '
            "restricted",
        ),
    ],
)
def test_wrong_configuration_is_refused(tmp_path: Path, text: str, why: str) -> None:
    assert refusal(tmp_path, text) == why


def test_missing_files_are_named(tmp_path: Path) -> None:
    missing = tmp_path / "no-file"
    with pytest.raises(ConfigurationRefused) as refused:
        load(missing)
    gone = f"open {missing}: no such file or directory"
    assert str(refused.value) == (
        f"failed to apply admission: {missing}: {READ}unable to read admission control configuration from "
        f'"{missing}" [{gone}]'
    )
    why = refusal(tmp_path, f"{HEAD}plugins: [{{name: PodSecurity, path: no-file}}]\n")
    assert why == f"Couldn't open admission plugin configuration {missing}: {gone}"


def test_repeated_field_of_a_plugins_file_is_refused(tmp_path: Path) -> None:
    text = f"{POD_SECURITY[1:].replace(', ', chr(10))}\ndefaults: {{}}\ndefaults: {{}}\n"
    (tmp_path / "own.yaml").write_text(text)
    why = refusal(tmp_path, f"{HEAD}plugins: [{{name: PodSecurity, path: own.yaml}}]\n")
    assert why.startswith(f"{POD_SECURITY_INIT}strict decoding error: ")
    assert 'key "defaults" already set in map' in why
