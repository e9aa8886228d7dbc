"""ImageListPullJobs: an ImagePullJob for each image of a list."""
