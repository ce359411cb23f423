#!/bin/sh
# Children that change each other's allowed CPUs and policies, waiting or running, while others fork, begin sessions and signal.
stress-ng --race-sched 1 --sigrt 1 --session 1 --kill 1 -t 1
