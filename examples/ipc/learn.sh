#!/bin/sh
# The learner of the IPC's learning track: learn.sh DK DOMAIN TASK...
# Each better model appears as DK.1, DK.2, ...; SIGTERM ends it within seconds.
# OCLGEN_TIME is how long it learns, 23 hours unless told.
exec oclgen ipc learn --time "${OCLGEN_TIME:-23h}" "$@"
