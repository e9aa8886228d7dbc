"""AdvancedCronJob: Jobs and BroadcastJobs by a schedule. Its decisions are those of CronJobs."""
