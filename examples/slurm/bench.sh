#!/bin/bash
# One benchmark as a Slurm job array: task I runs part I of N on one core and writes records of its own.
#
#   mkdir -p runs && sbatch --array=1-32 examples/slurm/bench.sh configs/paper/main.toml runs/main
#   oclgen merge runs/main/part-* --out runs/main/all
#   oclgen report runs/main/all
#
# Number the array from 1. Submit a task again after it was stopped: it continues where it stopped. If some tasks never
# ran, `oclgen bench --config CONFIG --out runs/main/all` after the merge runs what is missing.
# configs/paper/main.toml also proves lengths ([optima], 64 GB and 48 hours a problem): leave that out, or ask for as much.
# Timed runs must not share a core: ask for whole cores and no hyper-threads.

#SBATCH --job-name=oclgen-bench
#SBATCH --cpus-per-task=1
#SBATCH --hint=nomultithread
#SBATCH --mem=10G
#SBATCH --time=24:00:00
#SBATCH --output=runs/%x-%A-%a.log

set -euo pipefail

config=${1:?usage: sbatch --array=1-N bench.sh CONFIG OUT}
out=${2:?usage: sbatch --array=1-N bench.sh CONFIG OUT}

# Tasks on one node must agree on which cores are taken; a private /tmp would hide that from them.
oclgen bench --config "$config" --out "$out/part-$SLURM_ARRAY_TASK_ID" --workers 1 \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
