"""``/configz`` shows the configuration in the form in which it is read."""

from __future__ import annotations

from pathlib import Path

from podling.kubelet.config import KubeletConfig
from podling.kubelet.configuration.mapping import settings_from
from podling.kubelet.configuration.types import KubeletConfiguration
from podling.kubelet.server.configz import configz
from podling.machinery.encoding.intake import convert


def test_values_have_the_form_of_files() -> None:
    config = KubeletConfig(
        sync_frequency=90.0,
        static_pod_path=Path("/etc/manifests"),
        eviction_soft_grace_period={"memory.available": 60.0},
        authentication_webhook_cache_ttl=30.0,
    )
    shown = configz(config)["kubeletconfig"]
    assert (shown["kind"], shown["apiVersion"]) == (
        "KubeletConfiguration",
        "kubelet.config.k8s.io/v1beta1",
    )
    assert shown["syncFrequency"] == "1m30s"
    assert shown["staticPodPath"] == "/etc/manifests"
    assert shown["containerLogMaxSize"] == "10Mi"
    assert shown["evictionSoftGracePeriod"] == {"memory.available": "1m0s"}
    assert shown["authentication"]["webhook"] == {"enabled": True, "cacheTTL": "30s"}
    assert shown["crashLoopBackOff"] == {"maxContainerRestartPeriod": "5m0s"}


def test_shown_configuration_is_read_back_as_it_is() -> None:
    config = KubeletConfig(max_pods=7, node_status_update_frequency=4.0)
    shown = configz(config)["kubeletconfig"]
    settings, problems = settings_from(convert(shown, KubeletConfiguration, "Strict")[0], Path("/"))
    assert not problems
    for name, value in settings.items():
        assert getattr(config, name) == value, name
