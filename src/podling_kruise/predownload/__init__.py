"""Downloads of new images to the nodes of old pods, before and while a workload is updated.

Each changed image of a revision gets an ImagePullJob, which its workload owns. A label of the revision says
that this was done, or that it is left out. The jobs are deleted when the update is over.
Upstream: ``*_predownload_image.go`` of the workloads' controllers, ``pkg/util/imagejob``.
"""
