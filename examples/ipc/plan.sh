#!/bin/sh
# The planner of the IPC's learning track: plan.sh DK DOMAIN TASK PLAN
# Plans appear as PLAN.1, PLAN.2, ..., each valid and shorter than the one before, until SIGTERM.
exec oclgen ipc plan "$@"
