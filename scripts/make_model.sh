#!/bin/sh
# The shipped model of one domain, from drawing problems to float16 weights. Each step goes on where it was stopped, so the
# same command again finishes what was interrupted; what is finished takes a moment.
set -e
domain=$1
memory=4G
case $domain in
blocksworld) data="--count 2500 --random-seed 1 --time-limit 60s --val 300 --test 300" ;;
logistics) data="--count 3000 --random-seed 1 --time-limit 60s --val 50 --test 50 --set cities=1..10 --set city_size=1..3 --set packages=1..15 --set airplanes=1..3" ;;
labyrinth) data="--teacher bfs --count 1600 --random-seed 4 --time-limit 10s --val 60 --test 100 --set size=3..4"; memory=6G ;;
sokoban) data="--count 1000 --random-seed 1 --time-limit 60s --set grid=5..10 --set boxes=1..4" ;;
*) echo "usage: $0 blocksworld|logistics|labyrinth|sokoban" >&2; exit 2 ;;
esac

resume() { if [ -e "$1" ]; then echo --resume; fi; }

train() { # policy|heuristic, run, then more settings
    kind=$1 run=$2; shift 2
    oclgen train "$kind" --config "configs/cpu/$kind-$domain.toml" --out "$run" $(resume "$run/state.pt") "$@"
}

oclgen data "$domain" --out "data/$domain" --memory-limit "$memory" $data
if [ "$domain" = labyrinth ]; then
    # Optimal plans show only states near them: states beside them are added, each with a shortest plan.
    oclgen detours data/labyrinth --out data/labyrinth-detours --states 10 --walk 12 --time-limit 2s
    train policy runs/policy-labyrinth-young schedule.time=7m run.validate_every=200 # where the heuristic begins
fi
train policy "runs/policy-$domain"
train heuristic "runs/heuristic-$domain"
model=runs/base-$domain
kept=best
if [ "$domain" = labyrinth ]; then kept=last; fi # 57 boards are too few to tell which checkpoint is the best
python scripts/ship.py "runs/policy-$domain/$kept" "runs/heuristic-$domain/$kept" "$model"
cp "src/oclgen/pretrained/$domain/solve.toml" "$model"
case $domain in blocksworld | logistics)
    loop=runs/improve-$domain
    oclgen improve --config "configs/cpu/improve-$domain.toml" --model "$model" --out "$loop" $(resume "$loop/settings.json")
    model=$(ls -d "$loop"/iteration-* | sort -V | tail -n 1)
    ;;
esac
python scripts/ship.py "$model/policy" "$model/heuristic" "src/oclgen/pretrained/$domain"
