#!/bin/sh
# In a group that outweighs all else on the machine, so that it is what CPU 0 runs.
group=/sys/fs/cgroup/cpu/job
mkdir $group
echo 262144 > $group/cpu.shares
echo $$ > $group/cgroup.procs
rt-app w.json
echo $$ > /sys/fs/cgroup/cpu/cgroup.procs
rmdir $group
