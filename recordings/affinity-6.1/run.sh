#!/bin/sh
# Tasks that may use some CPUs: hogs two, pipes four, and one that gets one CPU, two others and all while it runs
for i in 0 1 2; do taskset -c 0,1 stress-ng --cpu 1 -t 2s >/dev/null 2>&1 & done
taskset -c 4-7 stress-ng --pipe 3 -t 2s >/dev/null 2>&1 &
sh -c 'while :; do :; done' & hog=$!
sleep 0.4; taskset -p -c 2 $hog >/dev/null; sleep 0.4; taskset -p -c 3,5 $hog >/dev/null
sleep 0.4; taskset -p -c 0-7 $hog >/dev/null; sleep 0.4; kill $hog
wait
