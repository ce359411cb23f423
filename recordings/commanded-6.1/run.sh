#!/bin/sh
# policies that commands change from outside, and tasks that have two CPUs to themselves
taskset -c 2,3 hackbench -g 1 -l 40 >/dev/null &
tasks=
for i in 1 2 3; do sh -c 'while :; do :; done' & tasks="$tasks $!"; done
for i in 1 2; do sh -c 'while :; do usleep 2000; j=0; while [ $j -lt 200 ]; do j=$((j+1)); done; done' & tasks="$tasks $!"; done
usleep 50000
for task in $tasks; do
    chrt -r -p 5 $task; usleep 8000
    chrt -o -p 0 $task; chrt -b -p 0 $task; usleep 5000
    chrt -i -p 0 $task; usleep 5000
    chrt -o -p 0 $task
done
kill $tasks
wait
