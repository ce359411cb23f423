#!/bin/sh
# /a: three times the weight, /a/b: a fifth of it, with tasks in /a and in /a/b/c; /d; and tasks of the root group
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/a/b/c $cg/d
echo 3000 >$cg/a/cpu.shares; echo 200 >$cg/a/b/cpu.shares
in_group() { sh -c "echo \$\$ >$cg/$1/tasks; exec rt-app $2" >/dev/null & }
in_group a/b/c w.json; in_group a v.json; in_group d w.json; rt-app v.json >/dev/null &
wait
