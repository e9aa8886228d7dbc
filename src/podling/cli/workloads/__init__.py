"""Why workloads, their schedules and their budgets do not get on."""
