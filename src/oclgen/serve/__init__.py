"""`oclgen serve`: the planner behind HTTP, with a page to watch it.

Every job is a process of its own (`process`), fed by a bounded queue (`jobs`) and written down in SQLite (`store`).
Two interfaces stand on top: our own (`api`) and planning-as-a-service, which editors speak (`service`). `guard` decides
which requests get that far. The server never parses PDDL: that happens in children, which may die of it.
"""
