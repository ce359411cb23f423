#!/bin/sh
# limits that are changed, lifted and set again while their groups work
cg=/sys/fs/cgroup/cpu
mkdir -p $cg/a $cg/b/c
tasks=
hog() { sh -c "echo \$\$ > $cg/$1/tasks; while :; do :; done" & tasks="$tasks $!"; }
beat() {
    sh -c "echo \$\$ > $cg/$1/tasks; while :; do usleep 3000; j=0; while [ \$j -lt 200 ]; do j=\$((j+1)); done; done" &
    tasks="$tasks $!"
}
for group in a b b/c; do echo 50000 > $cg/$group/cpu.cfs_period_us; done
echo 70000 > $cg/a/cpu.cfs_quota_us
hog a; hog a; beat a; hog b; beat b; hog b/c; beat b/c; beat .
sleep 0.8
echo 30000 > $cg/a/cpu.cfs_quota_us
echo 90000 > $cg/b/cpu.cfs_quota_us
sleep 0.7
echo 15000 > $cg/b/c/cpu.cfs_quota_us
sleep 0.6
echo -1 > $cg/a/cpu.cfs_quota_us
echo 45000 > $cg/b/cpu.cfs_quota_us
sleep 0.7
kill $tasks
wait
