#!/bin/sh
# On 32 CPUs in four sockets: hogs on twenty, hackbench, and a fork of a pipeline at a time
stress-ng --cpu 20 -t 2s >/dev/null 2>&1 &
hackbench -p -g 1 -l 20 >/dev/null
i=0; while [ $i -lt 20 ]; do sh -c 'echo x | cat' >/dev/null; i=$((i+1)); done
wait
