#!/bin/sh
# Nested groups whose weights change, on four CPUs
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/web/api $cg/web/db $cg/batch
echo 2048 >$cg/web/cpu.shares
in_group() { sh -c "echo \$\$ >$cg/$1/tasks; exec rt-app $2" >/dev/null & }
in_group web/api api.json; in_group web/db db.json; in_group batch batch.json; rt-app root.json >/dev/null &
sleep 0.8; echo 512 >$cg/web/cpu.shares
sleep 0.5; echo 3000 >$cg/web/db/cpu.shares; echo 100 >$cg/batch/cpu.shares
wait
