"""The simulated runtime: containers that run nothing and live as their scripts say.

Here belong the scripts (``script.py``), one container's scripted life (``life.py``), its log in
memory (``memory_log.py``), the scripted registry (``images.py``), the runtime that joins them
(``runtime.py``) and one that hangs and lies (``faults.py``). Everything happens on the event loop by
timers: no threads, no files, no sockets, so whole days pass in milliseconds on the virtual-time loop,
in the same order every time.

Not here: virtual time itself (``podling.sim``), and whole clusters to test on (``podling.testing``).
"""

from podling.runtime.sim.faults import Fault as Fault
from podling.runtime.sim.faults import FaultyRuntime as FaultyRuntime
from podling.runtime.sim.memory_log import MemoryLog as MemoryLog
from podling.runtime.sim.runtime import SimRuntime as SimRuntime
from podling.runtime.sim.script import ContainerScript as ContainerScript
from podling.runtime.sim.script import ExecScript as ExecScript
from podling.runtime.sim.script import ImageScript as ImageScript
from podling.runtime.sim.script import LogScript as LogScript
from podling.runtime.sim.script import PodScript as PodScript
from podling.runtime.sim.script import PortScript as PortScript
from podling.runtime.sim.script import ProbeScript as ProbeScript
from podling.runtime.sim.script import PullFailure as PullFailure
from podling.runtime.sim.script import Run as Run
from podling.runtime.sim.script import Scenario as Scenario
from podling.runtime.sim.script import Usage as Usage
