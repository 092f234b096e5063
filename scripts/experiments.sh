#!/bin/sh
# The models of the paper's side experiments, for configs/cpu/words.toml, generalisation.toml, best_of_n.toml and
# self_improvement.toml. Hours of one core; each step goes on where it was stopped, what is finished takes a moment.
#
#   scripts/experiments.sh [-c CORE] [-t SHARE] words|gaps|compilation|loops...
#
# words        the paper's kinds of models (GPT-2, BERT) for Blocksworld, reduced: 40 minutes
# gaps         Blocksworld without 11, 12, 18 and 19 blocks: relational, words, words with shuffled names: 40 minutes
# compilation  a policy of each domain with action compilation and one without, 6 minutes each: 48 minutes
# loops        MCTS's own three loops of self-improvement in Blocksworld and Sokoban, and OCLGen's: 16 to 20 minutes each
#
# CORE is the core to use (default: any). SHARE is a percentage of the training times of the first three, for a trial. All
# other data, and the models that the loops start from, are those of scripts/make_model.sh, which comes first.
set -eu

core="" share=100
while getopts c:t: option; do
    case $option in
        c) core="taskset -c $OPTARG" ;;
        t) share=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { echo "usage: $0 [-c CORE] [-t SHARE] words|gaps|compilation|loops..." >&2; exit 2; }

model() { # folder, kind, config, minutes, then more options: train, and put the weights where searches find them
    folder=$1 kind=$2 config=$3 seconds=$(($4 * 60 * share / 100))
    shift 4
    [ ! -e "$folder/$kind/weights.safetensors" ] || return 0
    $core oclgen train "$kind" --config "configs/cpu/$config.toml" --out "$folder/$kind-run" --resume \
        --max-time "${seconds}s" "$@"
    python scripts/ship.py "$folder/$kind-run/best" "$folder/$kind"
}

loops() { # domain: both methods from the same model, the one that learned from the teacher's plans
    improve "$1" oclgen "runs/improve-$1" "runs/base-$1"
    improve "$1" mcts "runs/improve-$1-mcts" "runs/improve-$1/iteration-0"
}

improve() { # domain, method, folder of the loop, model to start from
    resume=$([ ! -e "$3/settings.json" ] || echo --resume)
    $core oclgen improve --config "configs/cpu/improve-$1.toml" --data "data/$1-loop" --model "$4" --out "$3" $resume \
        n_loop=3 "search.method=$2"
}

for experiment in "$@"; do
    case $experiment in
        words)
            model runs/words-blocksworld policy policy-blocksworld 30
            model runs/words-blocksworld heuristic heuristic-blocksworld 10
            ;;
        gaps)
            data=data/blocksworld-gaps
            $core oclgen data blocksworld --out $data --count 2500 --random-seed 3 --time-limit 60s --memory-limit 6G \
                --val 150 --test 0 --set blocks=3..10,13..17,20..25
            model runs/gaps-relational relational relational-blocksworld 10 --data $data
            model runs/gaps-words policy policy-blocksworld 12 --data $data data.shuffle_names=false
            model runs/gaps-shuffled policy policy-blocksworld 12 --data $data
            model runs/gaps-shuffled heuristic heuristic-blocksworld 6 --data $data
            ;;
        compilation)
            for domain in blocksworld logistics labyrinth sokoban; do
                model "runs/compiled-$domain" relational "relational-$domain" 6
                model "runs/not-compiled-$domain" relational "relational-$domain" 6 data.offsets=false
            done
            ;;
        loops)
            $core oclgen data blocksworld --out data/blocksworld-loop --count 1000 --random-seed 31 --time-limit 60s \
                --val 30 --test 60
            loops blocksworld
            loops sokoban
            ;;
        *)
            echo "no experiment $experiment; known are words, gaps, compilation, loops" >&2
            exit 2
            ;;
    esac
done
