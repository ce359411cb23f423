#!/bin/sh
cg=/sys/fs/cgroup/cpu
in_group() { g=$1; shift; (echo 0 > $cg/$g/tasks; exec "$@") & }
mkdir -p $cg/a
echo 4096 > $cg/a/cpu.shares
mkdir -p $cg/b
mkdir -p $cg/a/a1
echo 4096 > $cg/a/a1/cpu.shares
in_group a rt-app w0.json
in_group b rt-app w1.json
in_group a/a1 rt-app w2.json
in_group . rt-app w3.json
sleep 0.1; echo 3000 > $cg/a/cpu.shares
sleep 0.4; echo 4096 > $cg/b/cpu.shares
sleep 0.1; echo 300 > $cg/a/cpu.shares
sleep 0.2; echo 10240 > $cg/a/a1/cpu.shares
wait
