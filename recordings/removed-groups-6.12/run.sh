#!/bin/sh
# tasks that are moved between groups, all of which are removed in the end
cpu=/sys/fs/cgroup/cpu
in_group() { sh -c "echo \$\$ > $cpu/$1/tasks; exec $2" & }

mkdir -p $cpu/a/x $cpu/b
echo 400 > $cpu/b/cpu.shares
in_group a "rt-app a.json"
in_group b "rt-app b.json"
rt-app r.json &

sleep 0.8
mkdir $cpu/c
echo 3000 > $cpu/c/cpu.shares
for task in $(tail -4 $cpu/a/tasks); do echo $task > $cpu/c/tasks; done
sleep 0.8
for task in $(tail -2 $cpu/a/tasks); do echo $task > $cpu/a/x/tasks; done
sleep 0.6
for task in $(cat $cpu/c/tasks); do echo $task > $cpu/b/tasks; done
rmdir $cpu/c
wait
rmdir $cpu/a/x $cpu/a $cpu/b
