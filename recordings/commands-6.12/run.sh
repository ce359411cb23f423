#!/bin/sh
# renice, chrt and taskset on hogs, and on shells that start programs all the time
tasks=
for i in 1 2 3 4 5 6 7 8; do
    sh -c 'while :; do :; done' & tasks="$tasks $!"
done
for i in 1 2 3 4; do
    sh -c 'while :; do usleep 1500; j=0; while [ $j -lt 150 ]; do j=$((j+1)); done; done' & tasks="$tasks $!"
done
n=0
for round in 1 2 3; do
    for task in $tasks; do
        n=$((n + 1))
        case $(((n * 7 + round) % 9)) in
            0) renice -n 5 -p $task ;;
            1) renice -n -5 -p $task ;;
            2) chrt -b -p 0 $task ;;
            3) chrt -o -p 0 $task ;;
            4) chrt -i -p 0 $task ;;
            5) taskset -p 15 $task ;;
            6) taskset -p 3f $task ;;
            7) taskset -p 38 $task ;;
            8) renice -n 0 -p $task ;;
        esac >/dev/null
    done
    usleep 100000
done
kill $tasks
wait
