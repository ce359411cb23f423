#!/bin/sh
# five pods of 256 to 1280 shares, a container in each; one pod may use 120 ms in 100, the container of another one 50
cg=/sys/fs/cgroup/cpu
for i in 1 2 3 4 5; do mkdir -p $cg/k/pod$i/c; echo $((256 * i)) >$cg/k/pod$i/cpu.shares; done
echo 120000 >$cg/k/pod1/cpu.cfs_quota_us; echo 50000 >$cg/k/pod4/c/cpu.cfs_quota_us
in_group() { sh -c "echo \$\$ >$cg/$1/tasks; exec rt-app $2" >/dev/null & }
for i in 1 2 3 4 5; do in_group k/pod$i/c container.json; done; rt-app root.json >/dev/null &
wait
