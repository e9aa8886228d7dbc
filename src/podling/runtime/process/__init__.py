"""Plain host processes as containers: for machines without root, and for macOS.

Here belong the plan from a container to a process (``plan.py``, ``launching.py``), what is kept on disk
(``records.py``), one container (``member.py``), the connection to its monitor (``link.py``; the monitor
itself is ``runtime.monitor``), ``exec`` and ``attach`` (``executions.py``), the machine's figures
(``machine.py``) and the runtime that joins them (``runtime.py``).

No isolation is promised here: nothing that needs namespaces, cgroups or root belongs in this
package (see ``runtime.oci``). Requests that it cannot satisfy are refused or named in warnings.
"""

from podling.runtime.process.runtime import ProcessRuntime as ProcessRuntime
