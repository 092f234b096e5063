#!/bin/sh
# The models of the paper's side experiments, for configs/cpu/words.toml, generalisation.toml, best_of_n.toml and
# self_improvement.toml. Hours of one core; each step goes on where it was stopped, what is finished takes a moment.
#
#   scripts/experiments.sh [-c CORE] [-t SHARE] words|gaps|compilation|loops...
#
# words        the paper's kinds of models (GPT-2, BERT) for Blocksworld, reduced: 40 minutes
# gaps         Blocksworld without 11, 12, 18 and 19 blocks: relational, words, words with shuffled names: 40 minutes
# compilation  a policy of each domain with action compilation and one without, on whole plans, 6 minutes each: 48 minutes
# loops        the paper's three loops of self-improvement in Blocksworld and Sokoban, OCLGen's and MCTS's own, from one
#              model that has learned from the teacher's plans: seven minutes a loop, two hours in all
#
# CORE is the core to use (default: any). SHARE is a percentage of the training times, for a trial. All other data are
# those of scripts/make_model.sh, which comes first; so are the models in runs/base-DOMAIN, where they exist.
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

loops() { # domain, then what to draw: both methods from the same model, the one that learned from the teacher's plans
    domain=$1
    shift
    model "runs/base-$domain" relational "relational-$domain" 12
    $core oclgen data "$domain" --out "data/loops-$domain" --memory-limit 6G --random-seed 31 --test 60 "$@"
    improve "$domain" oclgen "runs/loops-$domain"
    improve "$domain" mcts "runs/loops-$domain-mcts"
}

improve() { # domain, method, folder of the loop: the paper's loop, new problems in each and one plan for each problem
    resume=$([ ! -e "$3/settings.json" ] || echo --resume)
    $core oclgen improve --config "configs/cpu/improve-$1.toml" --data "data/loops-$1" --model "runs/base-$1" --out "$3" \
        $resume --workers 1 n_loop=3 "search.method=$2" problems.per_loop=120 problems.validation=20 problems.test=60 \
        extra.bank=false extra.plans=1 extra.states=0 "relational.schedule.time=$((180 * share / 100))s"
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
                whole="data.window=500 model.max_plan=2500" # plans, as the paper's policies learn them
                model "runs/compiled-$domain" relational "relational-$domain" 6 $whole
                model "runs/not-compiled-$domain" relational "relational-$domain" 6 $whole data.offsets=false
            done
            ;;
        loops)
            loops sokoban --count 440 --val 20 --time-limit 5s --set grid=5..12 --set boxes=1..6
            loops blocksworld --count 450 --val 30 --time-limit 60s
            ;;
        *)
            echo "no experiment $experiment; known are words, gaps, compilation, loops" >&2
            exit 2
            ;;
    esac
done
