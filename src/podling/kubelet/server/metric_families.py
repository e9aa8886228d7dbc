"""The metric families of the kubelet's pages: kind and help text by name, as upstream has them. Pure.

Source: ``pkg/kubelet/metrics/metrics.go``, ``pkg/kubelet/prober``, ``pkg/kubelet/metrics/collectors``, and
cAdvisor's ``lib/metrics/prometheus.go``.
"""

from __future__ import annotations

from podling.kubelet.server.metrics_page import Kinds

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"

OWN: Kinds = {
    "kubelet_node_name": (GAUGE, "[ALPHA] The node's name. The count is always 1."),
    "kubelet_running_pods": (GAUGE, "[ALPHA] Number of pods that have a running pod sandbox"),
    "kubelet_running_containers": (GAUGE, "[ALPHA] Number of containers currently running"),
    "kubelet_desired_pods": (
        GAUGE,
        "[ALPHA] The number of pods the kubelet is being instructed to run. static is true if the pod is not "
        "from the apiserver.",
    ),
    "kubelet_active_pods": (
        GAUGE,
        "[ALPHA] The number of pods the kubelet considers active and which are being considered when "
        "admitting new pods. static is true if the pod is not from the apiserver.",
    ),
    "kubelet_restarted_pods_total": (
        COUNTER,
        "[ALPHA] Number of pods that have been restarted because they were deleted and recreated with the "
        "same UID while the kubelet was watching them (common for static pods, extremely uncommon for API "
        "pods)",
    ),
    "kubelet_orphaned_runtime_pods_total": (
        COUNTER,
        "[ALPHA] Number of pods that have been detected in the container runtime without being already known "
        "to the pod worker. This typically indicates the kubelet was restarted while a pod was force deleted "
        "in the API or in the local configuration, which is unusual.",
    ),
    "kubelet_started_pods_total": (COUNTER, "[ALPHA] Cumulative number of pods started"),
    "kubelet_started_pods_errors_total": (COUNTER, "[ALPHA] Cumulative number of errors when starting pods"),
    "kubelet_started_containers_total": (COUNTER, "[ALPHA] Cumulative number of containers started"),
    "kubelet_started_containers_errors_total": (
        COUNTER,
        "[ALPHA] Cumulative number of errors when starting containers",
    ),
    "kubelet_terminated_containers_total": (
        COUNTER,
        "[ALPHA] Cumulative number of containers that failed or succeeded, by exit code",
    ),
    "kubelet_started_user_namespaced_pods_total": (
        COUNTER,
        "[ALPHA] Cumulative number of pods with user namespaces started. This metric will only be collected "
        "on Linux.",
    ),
    "kubelet_started_user_namespaced_pods_errors_total": (
        COUNTER,
        "[ALPHA] Cumulative number of errors when starting pods with user namespaces. This metric will "
        "only be collected on Linux.",
    ),
    "kubelet_container_requested_resizes_total": (
        COUNTER,
        "[ALPHA] Number of requested resizes, counted at the container level. Different resources on the "
        "same container are counted separately. The 'requirement' label refers to 'memory' or 'limits'; the "
        "'operation' label can be one of 'add', 'remove', 'increase' or 'decrease'.",
    ),
    "kubelet_pod_resize_duration_milliseconds": (
        HISTOGRAM,
        "[ALPHA] Duration in milliseconds to actuate a pod resize",
    ),
    "kubelet_pod_pending_resizes": (GAUGE, "[ALPHA] Number of pending resizes for pods."),
    "kubelet_pod_in_progress_resizes": (GAUGE, "[ALPHA] Number of in-progress resizes for pods."),
    "kubelet_pod_infeasible_resizes_total": (COUNTER, "[ALPHA] Number of infeasible resizes for pods."),
    "kubelet_pod_deferred_accepted_resizes_total": (
        COUNTER,
        "[ALPHA] Cumulative number of resizes that were accepted after being deferred.",
    ),
    "kubelet_evictions": (COUNTER, "[ALPHA] Cumulative number of pod evictions by eviction signal"),
    "kubelet_preemptions": (
        COUNTER,
        "[ALPHA] Cumulative number of pod preemptions by preemption resource",
    ),
    "kubelet_graceful_shutdown_start_time_seconds": (
        GAUGE,
        "[ALPHA] Last graceful shutdown start time since unix epoch in seconds",
    ),
    "kubelet_graceful_shutdown_end_time_seconds": (
        GAUGE,
        "[ALPHA] Last graceful shutdown end time since unix epoch in seconds",
    ),
    "kubelet_volume_stats_capacity_bytes": (GAUGE, "[ALPHA] Capacity in bytes of the volume"),
    "kubelet_volume_stats_available_bytes": (GAUGE, "[ALPHA] Number of available bytes in the volume"),
    "kubelet_volume_stats_used_bytes": (GAUGE, "[ALPHA] Number of used bytes in the volume"),
    "kubelet_volume_stats_inodes": (GAUGE, "[ALPHA] Maximum number of inodes in the volume"),
    "kubelet_volume_stats_inodes_free": (GAUGE, "[ALPHA] Number of free inodes in the volume"),
    "kubelet_volume_stats_inodes_used": (GAUGE, "[ALPHA] Number of used inodes in the volume"),
    "kubelet_container_log_filesystem_used_bytes": (
        GAUGE,
        "[ALPHA] Bytes used by the container's logs on the filesystem.",
    ),
    "kubernetes_feature_enabled": (
        GAUGE,
        "[BETA] This metric records the data about the stage and enablement of a k8s feature.",
    ),
}

PROBES: Kinds = {
    "prober_probe_total": (
        COUNTER,
        "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.",
    ),
}

RESOURCE: Kinds = {
    "container_cpu_usage_seconds_total": (
        COUNTER,
        "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
    ),
    "container_memory_working_set_bytes": (GAUGE, "[STABLE] Current working set of the container in bytes"),
    "container_start_time_seconds": (
        GAUGE,
        "[STABLE] Start time of the container since unix epoch in seconds",
    ),
    "container_swap_limit_bytes": (
        GAUGE,
        "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems",
    ),
    "container_swap_usage_bytes": (
        GAUGE,
        "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems",
    ),
    "node_cpu_usage_seconds_total": (
        COUNTER,
        "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
    ),
    "node_memory_working_set_bytes": (GAUGE, "[STABLE] Current working set of the node in bytes"),
    "node_swap_usage_bytes": (
        GAUGE,
        "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems",
    ),
    "pod_cpu_usage_seconds_total": (
        COUNTER,
        "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
    ),
    "pod_memory_working_set_bytes": (GAUGE, "[STABLE] Current working set of the pod in bytes"),
    "pod_swap_usage_bytes": (
        GAUGE,
        "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
    ),
    "resource_scrape_error": (
        GAUGE,
        "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
    ),
}
"""The metrics of ``/metrics/resource``."""

CONTAINERS: Kinds = {
    "container_cpu_usage_seconds_total": (COUNTER, "Cumulative cpu time consumed in seconds."),
    "container_cpu_user_seconds_total": (COUNTER, "Cumulative user cpu time consumed in seconds."),
    "container_cpu_system_seconds_total": (COUNTER, "Cumulative system cpu time consumed in seconds."),
    "container_cpu_cfs_periods_total": (COUNTER, "Number of elapsed enforcement period intervals."),
    "container_cpu_cfs_throttled_periods_total": (COUNTER, "Number of throttled period intervals."),
    "container_cpu_cfs_throttled_seconds_total": (
        COUNTER,
        "Total time duration the container has been throttled.",
    ),
    "container_memory_cache": (GAUGE, "Number of bytes of page cache memory."),
    "container_memory_rss": (GAUGE, "Size of RSS in bytes."),
    "container_memory_kernel_usage": (GAUGE, "Size of kernel memory allocated in bytes."),
    "container_memory_mapped_file": (GAUGE, "Size of memory mapped files in bytes."),
    "container_memory_swap": (GAUGE, "Container swap usage in bytes."),
    "container_memory_failcnt": (COUNTER, "Number of memory usage hits limits"),
    "container_memory_usage_bytes": (
        GAUGE,
        "Current memory usage in bytes, including all memory regardless of when it was accessed",
    ),
    "container_memory_max_usage_bytes": (GAUGE, "Maximum memory usage recorded in bytes"),
    "container_memory_working_set_bytes": (GAUGE, "Current working set in bytes."),
    "container_memory_total_active_file_bytes": (GAUGE, "Current total active file in bytes."),
    "container_memory_total_inactive_file_bytes": (GAUGE, "Current total inactive file in bytes."),
    "container_memory_failures_total": (COUNTER, "Cumulative count of memory allocation failures."),
    "container_fs_reads_bytes_total": (COUNTER, "Cumulative count of bytes read"),
    "container_fs_reads_total": (COUNTER, "Cumulative count of reads completed"),
    "container_fs_writes_bytes_total": (COUNTER, "Cumulative count of bytes written"),
    "container_fs_writes_total": (COUNTER, "Cumulative count of writes completed"),
    "container_network_receive_bytes_total": (COUNTER, "Cumulative count of bytes received"),
    "container_network_receive_packets_total": (COUNTER, "Cumulative count of packets received"),
    "container_network_receive_packets_dropped_total": (
        COUNTER,
        "Cumulative count of packets dropped while receiving",
    ),
    "container_network_receive_errors_total": (
        COUNTER,
        "Cumulative count of errors encountered while receiving",
    ),
    "container_network_transmit_bytes_total": (COUNTER, "Cumulative count of bytes transmitted"),
    "container_network_transmit_packets_total": (COUNTER, "Cumulative count of packets transmitted"),
    "container_network_transmit_packets_dropped_total": (
        COUNTER,
        "Cumulative count of packets dropped while transmitting",
    ),
    "container_network_transmit_errors_total": (
        COUNTER,
        "Cumulative count of errors encountered while transmitting",
    ),
    "container_processes": (GAUGE, "Number of processes running inside the container."),
    "container_threads": (GAUGE, "Number of threads running inside the container"),
    "container_threads_max": (
        GAUGE,
        "Maximum number of threads allowed inside the container, infinity if value is zero",
    ),
    "container_ulimits_soft": (
        GAUGE,
        "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice",
    ),
    "container_oom_events_total": (COUNTER, "Count of out of memory events observed for the container"),
    "container_pressure_cpu_stalled_seconds_total": (
        COUNTER,
        "Total time duration no tasks in the container could make progress due to CPU congestion.",
    ),
    "container_pressure_cpu_waiting_seconds_total": (
        COUNTER,
        "Total time duration tasks in the container have waited due to CPU congestion.",
    ),
    "container_pressure_memory_stalled_seconds_total": (
        COUNTER,
        "Total time duration no tasks in the container could make progress due to memory congestion.",
    ),
    "container_pressure_memory_waiting_seconds_total": (
        COUNTER,
        "Total time duration tasks in the container have waited due to memory congestion.",
    ),
    "container_pressure_io_stalled_seconds_total": (
        COUNTER,
        "Total time duration no tasks in the container could make progress due to IO congestion.",
    ),
    "container_pressure_io_waiting_seconds_total": (
        COUNTER,
        "Total time duration tasks in the container have waited due to IO congestion.",
    ),
    "container_last_seen": (GAUGE, "Last time a container was seen by the exporter"),
    "container_start_time_seconds": (GAUGE, "Start time of the container since unix epoch in seconds."),
    "container_spec_cpu_period": (GAUGE, "CPU period of the container."),
    "container_spec_cpu_quota": (GAUGE, "CPU quota of the container."),
    "container_spec_cpu_shares": (GAUGE, "CPU share of the container."),
    "container_spec_memory_limit_bytes": (GAUGE, "Memory limit for the container."),
    "container_spec_memory_swap_limit_bytes": (GAUGE, "Memory swap limit for the container."),
    "container_spec_memory_reservation_limit_bytes": (GAUGE, "Memory reservation limit for the container."),
    "container_scrape_error": (GAUGE, "1 if there was an error while getting container metrics, 0 otherwise"),
    "machine_memory_bytes": (GAUGE, "Amount of memory installed on the machine."),
    "machine_swap_bytes": (GAUGE, "Amount of swap memory available on the machine."),
}
"""The metrics of ``/metrics/cadvisor``: those of cAdvisor that have a source here."""
