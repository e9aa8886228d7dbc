"""The controllers: loops that keep the cluster as its objects say.

Here belongs one file per controller (a reconciler, its decisions as plain functions beside it or in a
file of their own), what several controllers share (ownership, pod templates, conditions), and the manager
that runs them. What every control loop in any room needs (informers, queues, retries) is in
``podling.client``; placing pods is ``podling.scheduler``'s business, running them the kubelet's.
"""
