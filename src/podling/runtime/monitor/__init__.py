"""The monitor: one small process per container, which outlives Podling.

It starts the container's command in a session of its own, copies its output into the CRI log, keeps
its exit code for later readers, and is the only process to signal it, so that no signal can ever
reach a process that merely inherited the number. Commands of ``exec`` are its children too, so that
nothing started inside a container outlives it: what the command leaves behind is killed with it,
and on Linux the kernel kills the command if the monitor is killed.

It runs in a bare interpreter (``python -I -S``), imports nothing of Podling but this package, and
touches only its directory: ``launch.json`` is read, ``control`` is the socket it listens on,
``started.json`` and ``exit.json`` are what it leaves behind. Being apart, it reads the system's clock
itself.

conmon was rejected for this: it drives an OCI runtime's create and start, which plain processes do
not have. A monitor costs about 5 MB of its own and 30 ms at the start.

On the socket both sides send frames: one letter, four bytes of length, the payload.

    to the monitor    S signal number · R reopen the log · A attach · I input (empty: its end)
                      W columns rows · C command to run (JSON), with its three descriptors
    from the monitor  K done · E error text · F why a command did not start (JSON)
                      1 output · 2 error output · X exit code

An open connection ends when the container has ended and ``exit.json`` is there.
"""
