#!/bin/sh
# nested groups, each of whose weights is changed at another time
cg=/sys/fs/cgroup/cpu
in_group() { sh -c "echo \$\$ > $cg/$1/tasks; exec rt-app $2" & }
mkdir -p $cg/p/q/r $cg/s
echo 3000 > $cg/p/cpu.shares
in_group p p.json
in_group p/q q.json
in_group p/q/r r.json
in_group s s.json
in_group . z.json
sleep 0.5
echo 200 > $cg/p/q/cpu.shares
sleep 0.4
echo 4096 > $cg/s/cpu.shares
sleep 0.5
echo 512 > $cg/p/cpu.shares
sleep 0.3
echo 5000 > $cg/p/q/r/cpu.shares
wait
