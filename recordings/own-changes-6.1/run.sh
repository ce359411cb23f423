#!/bin/sh
# tasks that change themselves, again and again: the CPUs they may use, their nice level, their policy; and real-time tasks that
# are pushed and pulled
stress-ng --nice 1 --nice-ops 2 --schedpolicy 1 --schedpolicy-ops 100 -t 1
stress-ng --affinity 2 --affinity-ops 200 --affinity-pin -t 1
stress-ng --hrtimers 1 --timer 1 --poll 1 --poll-ops 150 -t 1
