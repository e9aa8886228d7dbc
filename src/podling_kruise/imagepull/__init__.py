"""ImagePullJobs: images are pulled on chosen nodes before pods need them.

The job's controller writes images into NodeImages, one for each node; the node's controller pulls them and
reports there. Another controller keeps NodeImages beside their nodes.
"""
