#!/bin/sh
# tasks that yield to each other, beside a group of threads whose weight changes
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/x/y
in_group() { g=$1; shift; sh -c 'echo $$ > $0/tasks; exec "$@"' $cg/$g "$@" & }
in_group x/y stress-ng --pthread 2 --pthread-max 6 --pthread-ops 200 -t 1 -q
in_group x stress-ng --yield 1 --yield-ops 40000 --nanosleep 1 -t 1 -q
for w in 900 9000 450; do sleep 0.2; echo $w > $cg/x/y/cpu.shares; done
wait
