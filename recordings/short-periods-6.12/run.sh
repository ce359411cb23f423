#!/bin/sh
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/g0
echo 10000 > $cg/g0/cpu.shares
echo 10000 > $cg/g0/cpu.cfs_period_us; echo 8000 > $cg/g0/cpu.cfs_quota_us; echo 4000 > $cg/g0/cpu.cfs_burst_us
in_group() { g=$1; shift; (echo 0 > $cg/$g/tasks; eval "exec $*") & }
in_group . "timeout 2 sh -c 'while :; do :; done'"
in_group . 'sh -c '\''i=0; while [ $i -lt 29 ]; do (k=0; while [ $k -lt 2000 ]; do k=$((k+1)); done; /bin/true) & i=$((i+1)); [ $((i%3)) = 0 ] && wait; done; wait'\'''
in_group g0 'rt-app w0.json'
in_group g0 'hackbench -p -g 1 -f 4 -l 30'
wait
