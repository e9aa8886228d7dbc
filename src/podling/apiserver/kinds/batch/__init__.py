"""Rules of Jobs and CronJobs (``batch``)."""
