#!/bin/sh
# limits that are set while their groups work
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/a $cg/b
tasks=
hog() { sh -c "echo \$\$ > $cg/$1/tasks; while :; do :; done" & tasks="$tasks $!"; }
beat() {
    sh -c "echo \$\$ > $cg/$1/tasks; while :; do usleep 3000; j=0; while [ \$j -lt 200 ]; do j=\$((j+1)); done; done" &
    tasks="$tasks $!"
}
hog a; hog a; beat a; hog b; hog b; beat b; beat .
sleep 0.6
echo 50000 > $cg/a/cpu.cfs_period_us
echo 40000 > $cg/a/cpu.cfs_quota_us
sleep 0.4
echo 25000 > $cg/b/cpu.cfs_quota_us
sleep 0.8
kill $tasks
wait
