#!/bin/sh
# a CPU goes offline and comes back beside hogs, naps and wakeups
for hog in 1 2 3 4; do sh -c 'while :; do :; done' & done
sh -c 'while :; do usleep 9000; done' &
sleep 0.15
echo 0 > /sys/devices/system/cpu/cpu2/online; sleep 0.15
echo 1 > /sys/devices/system/cpu/cpu2/online; sleep 0.15
kill $(jobs -p)
