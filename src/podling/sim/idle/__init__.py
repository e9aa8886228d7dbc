"""Time in which nothing happens: renewals of leases together, and leaps of the clock over rounds."""
