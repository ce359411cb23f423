#!/bin/sh
# a real-time hog on the CPU of two fair tasks, which the fair server alone lets run; and a real-time shell that starts programs
tasks=
for i in 1 2; do
    taskset -c 0 sh -c 'while :; do usleep 3000; j=0; while [ $j -lt 300 ]; do j=$((j+1)); done; done' & tasks="$tasks $!"
done
usleep 300000
taskset -c 0 chrt -f 3 sh -c 'while :; do :; done' & hog=$!
chrt -r 5 sh -c 'i=0; while [ $i -lt 40 ]; do i=$((i+1)); usleep 2000; done'
usleep 2200000
kill $hog $tasks
wait
