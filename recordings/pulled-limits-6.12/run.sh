#!/bin/sh
cg=/sys/fs/cgroup/cpu
# limits of several periods, quotas and bursts, on two levels
in_group() { g=$1; shift; (echo 0 > $cg/$g/tasks; exec "$@") & }
mkdir -p $cg/q0
echo 2048 > $cg/q0/cpu.shares
echo 100000 > $cg/q0/cpu.cfs_period_us; echo 25000 > $cg/q0/cpu.cfs_quota_us
mkdir -p $cg/q0/in0
echo 3000 > $cg/q0/in0/cpu.shares
mkdir -p $cg/q1
echo 512 > $cg/q1/cpu.shares
echo 25000 > $cg/q1/cpu.cfs_period_us; echo 6250 > $cg/q1/cpu.cfs_quota_us
echo 8000 > $cg/q1/cpu.cfs_burst_us
mkdir -p $cg/q2
echo 2048 > $cg/q2/cpu.shares
echo 50000 > $cg/q2/cpu.cfs_period_us; echo 40000 > $cg/q2/cpu.cfs_quota_us
echo 6000 > $cg/q2/cpu.cfs_burst_us
mkdir -p $cg/q2/in0
echo 100000 > $cg/q2/in0/cpu.cfs_period_us; echo 10000 > $cg/q2/in0/cpu.cfs_quota_us
in_group q0 rt-app w0.json
in_group q0/in0 rt-app w1.json
in_group q1 rt-app w2.json
in_group q2 rt-app w3.json
in_group q2/in0 rt-app w4.json
wait
