#!/bin/sh
# The shipped model of one domain, from drawing problems to float16 weights. Each step resumes where it was stopped, so
# the same command again finishes what was interrupted; what is finished takes a moment.
set -e
domain=$1
case $domain in
blocksworld) data="--count 2500 --random-seed 1 --time-limit 60s --val 150" ;;
logistics) data="--count 3000 --random-seed 11 --time-limit 30s --val 150 --set cities=1..15 --set city_size=1..4 --set packages=1..20 --set airplanes=1..5" ;;
labyrinth) data="--teacher bfs --count 1200 --random-seed 4 --time-limit 10s --val 60 --set size=3..4" ;;
sokoban) data="--count 2940 --random-seed 11 --time-limit 5s --val 150 --set grid=5..12 --set boxes=1..6" ;;
*) echo "usage: $0 blocksworld|logistics|labyrinth|sokoban" >&2; exit 2 ;;
esac

run=runs/relational-$domain
resume=
if [ -e "$run/state.pt" ]; then resume=--resume; fi

oclgen data "$domain" --out "data/$domain" --memory-limit 6G --test 0 $data
oclgen train relational --config "configs/cpu/relational-$domain.toml" --data "data/$domain" --out "$run" $resume
python scripts/ship.py "$run/best" "src/oclgen/pretrained/$domain"
