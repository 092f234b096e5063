"""Make a given plan shorter without a model: in every domain that can be read.

Three means, from quick to slow: leave out actions that the rest does without (`search.elimination`), search the
states around the plan for shortcuts (`neighbourhood`), plan parts of it anew with a classical planner (`windows`).
"""
