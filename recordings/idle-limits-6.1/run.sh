#!/bin/sh
# a group of cpu.idle, and one with 45 ms in 30 in which processes fork all the time, beside tasks of the root group
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/i/x $cg/l
echo 1 >$cg/i/cpu.idle
echo 30000 >$cg/l/cpu.cfs_period_us; echo 45000 >$cg/l/cpu.cfs_quota_us
in_group() { sh -c "echo \$\$ >$cg/$1/tasks; exec $2" >/dev/null & }
in_group i/x "rt-app w.json"; in_group l "stress-ng --fork 2 --fork-ops 200 -q"; in_group l "rt-app w.json"
rt-app v.json >/dev/null &
wait
