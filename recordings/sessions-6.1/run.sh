#!/bin/sh
# sessions without autogroups, and with them: of a session's leader, its children, and tasks that are in a cgroup
group=/sys/fs/cgroup/cpu/a
mkdir -p $group
setsid rt-app w.json &
sh -c "echo \$\$ > $group/tasks; exec setsid rt-app w.json" &
wait
echo 1 > /proc/sys/kernel/sched_autogroup_enabled
setsid rt-app w.json &
setsid sh -c 'rt-app w.json; setsid hackbench -p -g 1 -f 3 -l 30' &
sh -c "echo \$\$ > $group/tasks; exec setsid rt-app w.json" &
hackbench -p -g 1 -f 3 -l 60
wait
