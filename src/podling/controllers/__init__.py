"""The controllers: loops that bring the cluster to the state in its objects.

Here belongs one file per controller (a reconciler, its decisions as plain functions beside it or in a
file of their own), what several controllers share (ownership, pod templates, conditions), and the manager
that runs them. The parts of every control loop (informers, queues, retries) are in
``podling.client``. The scheduler binds pods, the kubelet runs them.
"""
