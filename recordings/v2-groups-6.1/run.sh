#!/bin/sh
cg=/sys/fs/cgroup/cpu; umount $cg; mount -t cgroup2 none $cg; echo +cpu > $cg/cgroup.subtree_control
mkdir -p $cg/web $cg/batch $cg/sys; echo "40000 100000" > $cg/web/cpu.max; echo 50 > $cg/batch/cpu.weight; echo "200000 100000" > $cg/batch/cpu.max
in_group() { g=$1; shift; sh -c "echo \$\$ > $cg/$g/cgroup.procs; exec $*" >/dev/null 2>&1 & }
in_group web rt-app w.json
in_group batch stress-ng --cpu 4 --fork 1 -t 2s
in_group sys hackbench -p -g 1 -l 60
sleep 1; echo 300 > $cg/web/cpu.weight
wait
