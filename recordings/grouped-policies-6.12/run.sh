#!/bin/sh
# tasks of two groups give themselves one policy after the other, alone in their group's queue or not
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/a $cg/c
in_group() { g=$1; shift; (echo 0 > $cg/$g/tasks; eval "exec $*") & }
in_group a 'stress-ng --schedpolicy 2 --timeout 1'
in_group c 'stress-ng --cpu 1 --timeout 1'
in_group c 'stress-ng --sem 1 --timeout 1'
wait
