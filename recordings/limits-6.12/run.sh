#!/bin/sh
# /a: 30 ms in 100; /a/b: 12 in 40, and a burst of 6; /c: three times the weight; and tasks of the root group
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/a/b $cg/c
echo 100000 >$cg/a/cpu.cfs_period_us; echo 30000 >$cg/a/cpu.cfs_quota_us
echo 40000 >$cg/a/b/cpu.cfs_period_us; echo 12000 >$cg/a/b/cpu.cfs_quota_us; echo 6000 >$cg/a/b/cpu.cfs_burst_us
echo 3072 >$cg/c/cpu.shares
in_group() { sh -c "echo \$\$ >$cg/$1/tasks; exec rt-app $2" >/dev/null & }
in_group a in_a.json; in_group a/b in_b.json; in_group c in_c.json; rt-app root.json >/dev/null &
wait
