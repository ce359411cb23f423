#!/bin/sh
# limits with bursts on three levels: /a 160 ms in 40 and 80 more, /a/b 90 and 30, /a/b/c 40; /d 60, /d/e 20 and 20
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/a/b/c $cg/d/e
for g in a a/b a/b/c d d/e; do echo 40000 >$cg/$g/cpu.cfs_period_us; done
echo 160000 >$cg/a/cpu.cfs_quota_us; echo 80000 >$cg/a/cpu.cfs_burst_us
echo 90000 >$cg/a/b/cpu.cfs_quota_us; echo 30000 >$cg/a/b/cpu.cfs_burst_us
echo 40000 >$cg/a/b/c/cpu.cfs_quota_us
echo 60000 >$cg/d/cpu.cfs_quota_us
echo 20000 >$cg/d/e/cpu.cfs_quota_us; echo 20000 >$cg/d/e/cpu.cfs_burst_us
in_group() { sh -c "echo \$\$ >$cg/$1/tasks; exec rt-app $2" >/dev/null & }
in_group a/b/c w.json; in_group a/b v.json; in_group d/e w.json; in_group d v.json; rt-app v.json >/dev/null &
wait
