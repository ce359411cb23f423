#!/bin/sh
# pipes, forks, timers and mutexes beside a hog, part of it bound to CPUs while it runs
rt-app w.json & rt=$!
hackbench -p -g 1 -f 3 -l 40 >/dev/null &
( i=0; while [ $i -lt 40 ]; do sh -c 'echo x | cat | cat' >/dev/null; i=$((i+1)); done ) &
( i=0; while [ $i -lt 60 ]; do sleep 0.02; i=$((i+1)); done ) & s=$!
sleep 0.6; taskset -p -c 0 $s >/dev/null
sleep 0.4; taskset -p -c 0,1 $s >/dev/null
wait $rt
