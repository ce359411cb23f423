#!/bin/sh
# one CPU: limits, nested, and processes that fork below them
cg=/sys/fs/cgroup/cpu; mkdir -p $cg/p/x $cg/p/y $cg/q
echo 50000 > $cg/p/cpu.cfs_period_us; echo 30000 > $cg/p/cpu.cfs_quota_us
echo 40000 > $cg/p/x/cpu.cfs_period_us; echo 8000 > $cg/p/x/cpu.cfs_quota_us
echo 20000 > $cg/q/cpu.cfs_period_us; echo 6000 > $cg/q/cpu.cfs_quota_us
storm='i=0; while [ $i -lt 14 ]; do (k=0; while [ $k -lt 400 ]; do k=$((k+1)); done; /bin/true) & i=$((i+1)); [ $((i%6)) = 0 ] && wait; done; wait'
for g in p/x p/y q; do sh -c "echo \$\$ > $cg/$g/tasks; exec sh -c '$storm'" & done
sh -c "$storm" &
wait
