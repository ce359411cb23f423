#!/bin/sh
# /a: 7 ms in 5; /b: 2 in 20, less than a slice of 5; and tasks of the root group
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/a $cg/b
echo 5000 >$cg/a/cpu.cfs_period_us; echo 7000 >$cg/a/cpu.cfs_quota_us
echo 20000 >$cg/b/cpu.cfs_period_us; echo 2000 >$cg/b/cpu.cfs_quota_us
in_group() { sh -c "echo \$\$ >$cg/$1/tasks; exec rt-app $2" >/dev/null & }
in_group a w.json; in_group b w.json; rt-app v.json >/dev/null &
wait
