#!/bin/sh
# The shipped model of one domain, from drawing problems to float16 weights. Each step resumes where it was stopped, so
# the same command again finishes what was interrupted; what is finished takes a moment.
set -e
domain=$1
case $domain in
blocksworld) data="--count 2500 --random-seed 1 --time-limit 60s --val 150 --test 0" ;;
logistics) data="--count 3000 --random-seed 11 --time-limit 30s --val 150 --test 0 --set cities=1..15 --set city_size=1..4 --set packages=1..20 --set airplanes=1..5" ;;
labyrinth) data="--teacher bfs --count 1600 --random-seed 4 --time-limit 10s --val 60 --test 100 --set size=3..4" ;;
sokoban) data="--count 2940 --random-seed 11 --time-limit 5s --val 150 --test 0 --set grid=5..12 --set boxes=1..6" ;;
*) echo "usage: $0 blocksworld|logistics|labyrinth|sokoban" >&2; exit 2 ;;
esac
loop="--count 690 --random-seed 31 --val 30 --test 50" # fresh problems for loops, otherwise like the others
shipped=src/oclgen/pretrained/$domain

train() { # kind, run, then more options
    kind=$1 run=$2; shift 2
    if [ -e "$run/state.pt" ]; then set -- --resume "$@"; fi
    oclgen train "$kind" --config "configs/cpu/$kind-$domain.toml" --out "$run" "$@"
}

base() { # a model folder of the run so far, to search with
    python scripts/ship.py "$run/best" "runs/base-$domain/relational"
    if [ -e "$shipped/solve.toml" ]; then cp "$shipped/solve.toml" "runs/base-$domain"; fi
}

improve() { # run, data set, model to start from, loops, then more settings; leaves the last model's folder in $latest
    run=$1 problems=$2 model=$3 loops=$4; shift 4
    resume=$([ -e "$run/settings.json" ] && echo --resume || true)
    oclgen improve --config "configs/cpu/improve-$domain.toml" --data "$problems" --model "$model" --out "$run" $resume \
        n_loop="$loops" "$@"
    latest=$run/iteration-$loops # scripts/experiments.sh may have made more
}

oclgen data "$domain" --out "data/$domain" --memory-limit 6G $data
run=runs/relational-$domain
train relational "$run" --data "data/$domain"
weights=$run/best
case $domain in
blocksworld) # One loop of self-improvement: search fresh problems with the model, finetune it on its own, shorter plans.
    base
    oclgen data "$domain" --teacher oclgen --model "runs/base-$domain" --out "data/$domain-own" --count 440 \
        --random-seed 21 --time-limit 2s --memory-limit 4G --val 40 --test 0
    train relational "runs/own-$domain" --data "data/$domain-own" "run.initial=\"$weights\"" 'schedule.time=""' \
        schedule.epochs=80 optimizer.lr=0.001 optimizer.hidden_lr=0.007 run.validate_every=50 run.validation_examples=40
    weights=runs/own-$domain/best ;;
labyrinth) # States beside the optimal plans.
    oclgen detours "data/$domain" --out "data/$domain-detours" --states 4 --walk 12 --time-limit 2s
    train relational "runs/detours-$domain" --data "data/$domain-detours" "run.initial=\"$weights\"" schedule.time=18m
    weights=runs/detours-$domain/best ;;
logistics | sokoban) # Loops of self-improvement; the last one on larger problems, in Sokoban with dead ends.
    base
    oclgen data "$domain" --out "data/$domain-loop" --memory-limit 6G $data $loop
    case $domain in
    logistics) # configs/cpu/failed.toml has what the teacher fails on at the full ranges
        improve runs/improve-logistics data/logistics-loop runs/base-logistics 2
        oclgen data logistics --out data/logistics-full --count 100 --time-limit 10s --memory-limit 4G --random-seed 41
        improve runs/improve-logistics-wide data/logistics-full "$latest" 1 problems.per_loop=90 \
            problems.validation=5 problems.test=5 search.time_limit=8s relational.schedule.time=12m ;;
    sokoban)
        improve runs/improve-sokoban data/sokoban-loop runs/base-sokoban 1
        oclgen data sokoban --out data/sokoban-wide --memory-limit 6G --count 330 --random-seed 41 --time-limit 6s \
            --val 20 --test 40 --set grid=7..14 --set boxes=3..10
        improve runs/improve-sokoban-wide data/sokoban-wide "$latest" 1 problems.per_loop=200 problems.test=40 \
            search.time_limit=3s extra.dead_ends=4 relational.schedule.time=12m ;;
    esac
    weights=$latest/relational ;;
esac
python scripts/ship.py "$weights" "$shipped/relational"
