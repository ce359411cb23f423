#!/bin/sh
# Many that wake each other through pipes: passes of balancing beside wakeups onto the same queues, and CPUs that pull sleepers.
stress-ng --pipeherd 1 --ring-pipe 1 -t 1
hackbench -p -g 2 -f 5 -l 40
