#!/bin/sh
# SCHED_DEADLINE, SCHED_RR and SCHED_FIFO beside fair tasks
exec rt-app w.json
