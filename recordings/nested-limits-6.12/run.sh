#!/bin/sh
# /o may use two CPUs; below it /o/i1 to /o/i3 may use 30, 40 and 50 ms in 100; beside them tasks of the root group
cg=/sys/fs/cgroup/cpu
for i in 1 2 3; do mkdir -p $cg/o/i$i; echo $((20000 + 10000 * i)) >$cg/o/i$i/cpu.cfs_quota_us; done
echo 200000 >$cg/o/cpu.cfs_quota_us
in_group() { sh -c "echo \$\$ >$cg/$1/tasks; exec rt-app $2" >/dev/null & }
for i in 1 2 3; do in_group o/i$i limited.json; done; rt-app root.json >/dev/null &
wait
