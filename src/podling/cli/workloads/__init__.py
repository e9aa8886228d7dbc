"""Why workloads, their schedules, their budgets and their pod groups do not get on."""
