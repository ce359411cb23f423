#!/bin/sh
# features and tunables that change half way
d=/sys/kernel/debug/sched
rt-app v.json &
hackbench -g 1 -f 3 -l 30 >/dev/null
sleep 0.5
for f in NO_RUN_TO_PARITY NO_GENTLE_FAIR_SLEEPERS NO_TTWU_QUEUE LB_MIN; do echo $f > $d/features; done 2>/dev/null
for f in base_slice_ns min_granularity_ns wakeup_granularity_ns; do [ -f $d/$f ] && echo 5000000 > $d/$f; done
hackbench -g 1 -f 3 -l 30 >/dev/null
wait
