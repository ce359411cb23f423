#!/bin/sh
stress-ng --pthread 2 --clone 1 --vfork 1 --timer 1 --nanosleep 1 -t 1 >/dev/null 2>&1
