#!/bin/sh
# one CPU: nested limits with bursts, and the upper one is raised in the middle
cg=/sys/fs/cgroup/cpu; mkdir -p $cg/a/b $cg/c
echo 50000 > $cg/a/cpu.cfs_period_us; echo 20000 > $cg/a/cpu.cfs_quota_us; echo 10000 > $cg/a/cpu.cfs_burst_us
echo 20000 > $cg/a/b/cpu.cfs_period_us; echo 5000 > $cg/a/b/cpu.cfs_quota_us; echo 5000 > $cg/a/b/cpu.cfs_burst_us
work='while :; do i=0; while [ $i -lt 900 ]; do i=$((i+1)); done; usleep 4000; done'
hog='while :; do :; done'
in_group() { sh -c "echo \$\$ > $cg/$1/tasks; exec sh -c '$2'" & jobs="$jobs $!"; }
jobs=
for g in a a/b c; do in_group $g "$work"; in_group $g "$hog"; done
in_group a "$work"; in_group c "$work"
sleep 1.7; echo 30000 > $cg/a/cpu.cfs_quota_us; sleep 1.2
kill $jobs
