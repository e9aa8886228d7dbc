"""The type ``KubeSchedulerConfiguration`` of ``kubescheduler.config.k8s.io/v1``, for strict decoding. Pure.

None stands for an absent Go pointer. Durations are texts. Upstream: ``types.go`` in
``k8s.io/kube-scheduler/config/v1`` and ``k8s.io/component-base/config/v1alpha1``.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Struct, field

from podling.api.markers import INT32

GROUP, VERSION, KIND = "kubescheduler.config.k8s.io", "v1", "KubeSchedulerConfiguration"
API_VERSION = f"{GROUP}/{VERSION}"
DEFAULT_SCHEDULER = "default-scheduler"

Int32 = Annotated[int, INT32]


class LeaderElection(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    leader_elect: bool | None = None
    lease_duration: str = ""
    renew_deadline: str = ""
    retry_period: str = ""
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnection(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 0.0
    burst: Int32 = 0


class PluginEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A plugin in a list; ``weight`` counts for scores only."""

    name: str = ""
    weight: Int32 | None = None


class PluginSet(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The plugins that one extension point enables and disables; ``*`` disables all defaults."""

    enabled: tuple[PluginEntry, ...] = ()
    disabled: tuple[PluginEntry, ...] = ()


class Plugins(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The plugins of every extension point."""

    pre_enqueue: PluginSet = field(default_factory=PluginSet)
    queue_sort: PluginSet = field(default_factory=PluginSet)
    pre_filter: PluginSet = field(default_factory=PluginSet)
    filter: PluginSet = field(default_factory=PluginSet)
    post_filter: PluginSet = field(default_factory=PluginSet)
    pre_score: PluginSet = field(default_factory=PluginSet)
    score: PluginSet = field(default_factory=PluginSet)
    reserve: PluginSet = field(default_factory=PluginSet)
    permit: PluginSet = field(default_factory=PluginSet)
    pre_bind: PluginSet = field(default_factory=PluginSet)
    bind: PluginSet = field(default_factory=PluginSet)
    post_bind: PluginSet = field(default_factory=PluginSet)
    multi_point: PluginSet = field(default_factory=PluginSet)


class PluginConfig(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The arguments of one plugin: plain data of the file or, once decoded, a struct."""

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A scheduler's name, and the plugins that decide about its pods (``KubeSchedulerProfile``)."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins | None = None
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderTLS(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class ManagedResource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLS | None = None
    http_timeout: str = ""
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    group_version_kind: ClassVar[tuple[str, str, str]] = (GROUP, VERSION, KIND)

    api_version: str = API_VERSION
    kind: str = KIND
    parallelism: Int32 | None = None
    leader_election: LeaderElection = field(default_factory=LeaderElection)
    client_connection: ClientConnection = field(default_factory=ClientConnection)
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: int | None = None
    pod_max_backoff_seconds: int | None = None
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
