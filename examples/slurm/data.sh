#!/bin/bash
# One data set as a Slurm job array: task I draws every N-th problem and solves its share of them.
#
#   mkdir -p runs && sbatch --array=1-32 examples/slurm/data.sh logistics runs/logistics --count 100000
#   oclgen merge runs/logistics/part-* --out runs/logistics/all
#   oclgen data logistics --out runs/logistics/all --count 100000
#
# Number the array from 1. Submit a task again after it was stopped: it continues where it stopped. The merge leaves
# out problems that two tasks have drawn; the last command draws others in their place.

#SBATCH --job-name=oclgen-data
#SBATCH --cpus-per-task=8
#SBATCH --mem-per-cpu=9G
#SBATCH --time=24:00:00
#SBATCH --output=runs/%x-%A-%a.log

set -euo pipefail

domain=${1:?usage: sbatch --array=1-N data.sh DOMAIN OUT [OPTION]...}
out=${2:?usage: sbatch --array=1-N data.sh DOMAIN OUT [OPTION]...}

oclgen data "$domain" --out "$out/part-$SLURM_ARRAY_TASK_ID" "${@:3}" --workers "$SLURM_CPUS_PER_TASK" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
