"""`oclgen serve`: the planner behind HTTP, with a page to watch it.

Every job is a process of its own, taken from a bounded queue and stored in SQLite (`jobs/`). Clients have two
interfaces: our own (`routes/api`) and planning as a service, which editors use (`routes/service`). `guard` decides
which requests get that far. The server itself never parses PDDL: that happens in child processes, which may crash.
"""
