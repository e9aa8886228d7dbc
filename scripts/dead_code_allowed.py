"""Names that ``vulture`` finds unused and that are used all the same, with the reason. Never run."""

# The generated modules of podling.api use these.
empty_list
empty_map
nil_list
empty_as_null
Nullable

# Libraries call or read these.
num_tickets  # ssl's context
output_size  # aiohttp's writer: "100 Continue" is no part of the response
log_errors  # re2's options
_prepare_hook  # aiohttp's request, before the head of a response
feed_data  # aiohttp's parser of a connection that was taken over
feed_eof
pause_writing  # asyncio.Protocol
list_commands  # click's group
get_command
format_commands
_clock_resolution  # asyncio's loop
datagram_received  # asyncio's protocol
trace  # the third argument of __aexit__
__class_getitem__  # of a class with a type parameter
__cause__  # shown with the exception
__call__  # the shape of a function in a protocol

# Read from a table or a structure by name.
doctor  # commands of the command line, imported when they are called
down
leave
list_tokens
delete_token
probe_type  # labels of a metric
used_bytes  # fields of the kubelet's statistics
process_count
pod_ref
process_stats
default_map  # click reads it
EPHEMERAL_STORAGE  # holds a place among the fixed columns
next_timer  # the state of a wound clock, sent as JSON
requests_in_work

envtest
import_scenario
do_GET  # http.server calls it by the name of the method
log_message
__getattr__  # of a module
pytest_addoption
pytest_load_initial_conftests
pytest_configure  # pytest finds hooks and fixtures by name
pytest_runtest_makereport
shared_cluster
_podling_session_cluster

# For tests of users: podling.testing hands out these objects, and docs/runtimes.md names the last two.
acting_as
write_log
rescript

simulated_cluster  # clusters of users' tests

# Actions of scenarios, by the names of their fields.
sim
stop_kubelets
restart_kubelets
stop_api_server
end_containers
set_image
cordon
uncordon
add_nodes
remove_nodes

# Fields of OpenKruise's objects, which others read.
use_surge
use_surge_old
updated_ready_replicas
update_images
updated_ready_pods
sidecar_set_name
sidecar_list
last_probe_time
volume_claim_update_strategy
volume_claim_name
compatible_replicas
compatible_ready_replicas
volume_claims
number_misscheduled
number_unavailable
KruiseExtension  # extensions/loading.py names it
SnapshotExtension
VpaExtension
ignore_aliases  # sim/scenario_writing.py: PyYAML calls it

# The functions of the scheduler that plugins of packages call (scheduler/framework.py, Handle).
waiting_pods
waiting_pod
pending_plugins

# Fields of NodeImages that no controller writes (podling_kruise/imagepull/types.py).
sync_at
first_sync_status

# A field of the record of running containers that others read (podling_kruise/inplace/runtime_containers.py).
plain_hash
