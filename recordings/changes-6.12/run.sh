#!/bin/sh
# tasks whose nice levels, policies and CPUs are changed while they run, wait and sleep; slices and yields of their own
rt-app w.json & rt=$!
sleep 0.4
set -- $(ls /proc/$rt/task)
shift
for n in 1 2 3 4 5 6; do
    for tid; do
        case $(((tid + n) % 6)) in
            0) renice -n $((n * 3 - 10)) -p $tid ;;
            1) chrt -b -p 0 $tid ;;
            2) chrt -f -p $n $tid; chrt -o -p 0 $tid ;;
            3) chrt -i -p 0 $tid ;;
            4) chrt -o -p 0 $tid ;;
            5) renice -n $((4 - n)) -p $tid ;;
        esac
    done
done >/dev/null 2>&1
wait $rt
