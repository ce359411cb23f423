#!/bin/sh
# shells that nap, and that change between SCHED_OTHER and SCHED_BATCH, beside hogs
napper() {
    i=0
    while [ $i -lt 12 ]; do
        case $((i % 3)) in
            0) chrt -b -p 0 $$ ;;
            1) chrt -o -p 0 $$; renice -n $((i % 5)) -p $$ ;;
            2) renice -n 0 -p $$ ;;
        esac >/dev/null 2>&1
        j=0
        while [ $j -lt 10 ]; do usleep 2000; k=0; while [ $k -lt 60 ]; do k=$((k+1)); done; j=$((j+1)); done
        i=$((i+1))
    done
}
if [ "$1" = napper ]; then napper; exit; fi
for n in 1 2 3; do sh -c 'while :; do :; done' & hogs="$hogs $!"; done
for n in 1 2 3; do sh $0 napper & naps="$naps $!"; done
rt-app v.json
wait $naps
kill $hogs
