#!/bin/sh
# tasks that yield in nested groups of other weights, beside hogs and each other
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/a/b $cg/c
echo 2500 > $cg/a/cpu.shares
echo 600 > $cg/c/cpu.shares
in_group() { sh -c "echo \$\$ > $cg/$1/tasks; exec $2" & }
in_group a/b "stress-ng --yield 2 --timeout 1"
in_group c "stress-ng --yield 2 --timeout 1"
in_group a "stress-ng --cpu 2 --timeout 1"
nice -n -3 stress-ng --yield 1 --timeout 1
wait
