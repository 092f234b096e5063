#!/bin/sh
# IPC 2023's learning track: learn a model of each domain, then compare it with LAMA-anytime, then report.
#
#   IPC2023_LEARNING=FOLDER scripts/ipc2023.sh [-c CORE] [-t TIME] [-l LIMIT] [-s STAGE] [DOMAIN...]
#
# FOLDER holds the track's domains, each with domain.pddl, training/ and testing/. Without DOMAIN all ten are done. CORE is
# the core to use (default: any), TIME that of `oclgen learn` (default 1h), LIMIT that of each run (default 60s), STAGE one
# of learn, bench, report (default: all three). Everything lies in runs/ipc2023. The same command goes on where it
# stopped; pieces with other domains may run at the same time on other cores, but only one `bench` at a time.
set -eu

core="" time=1h limit=60s stages="learn bench report"
while getopts c:t:l:s: option; do
    case $option in
        c) core="taskset -c $OPTARG" ;;
        t) time=$OPTARG ;;
        l) limit=$OPTARG ;;
        s) stages=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
: "${IPC2023_LEARNING:?must name the folder that holds the domains of the learning track}"
all="blocksworld childsnack ferry floortile miconic rovers satellite sokoban spanner transport"
[ $# -gt 0 ] || set -- $all

chosen=""
for domain in "$@"; do
    [ -f "$IPC2023_LEARNING/$domain/domain.pddl" ] || {
        echo "$IPC2023_LEARNING/$domain/domain.pddl: missing" >&2
        exit 2
    }
    chosen="$chosen --domain $domain"
done

for stage in $stages; do
    case $stage in
        learn)
            for domain in "$@"; do
                $core oclgen learn "$IPC2023_LEARNING/$domain" --time "$time" --workers 1 --out "runs/ipc2023/models/$domain"
            done
            ;;
        bench)
            python -m benchmarks.ipc2023.draw "$IPC2023_LEARNING" runs/ipc2023/larger
            $core oclgen bench --config configs/ipc2023/learning.toml --out runs/ipc2023/bench --workers 1 \
                --time-limit "$limit" $chosen
            ;;
        report)
            mkdir -p docs/results/ipc2023
            cp runs/ipc2023/bench/records.jsonl docs/results/ipc2023/records.jsonl
            oclgen report docs/results/ipc2023 --out docs/results/ipc2023
            ;;
        *)
            echo "no stage $stage; known are learn, bench, report" >&2
            exit 2
            ;;
    esac
done
