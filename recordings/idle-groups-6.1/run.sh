#!/bin/sh
# hogs in a group of cpu.idle and in one below it, beside a group of tasks that sleep and pairs with pipes
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/bg/x $cg/fg
echo 1 > $cg/bg/cpu.idle
echo 512 > $cg/bg/x/cpu.shares
in_group() { sh -c "echo \$\$ > $cg/$1/tasks; exec $2" & }
in_group bg "stress-ng --cpu 3 --timeout 2"
in_group bg/x "stress-ng --cpu 2 --timeout 2"
in_group fg "rt-app w.json"
hackbench -p -g 1 -l 20
wait
