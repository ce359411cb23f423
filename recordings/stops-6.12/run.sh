#!/bin/sh
# tasks that are stopped and continued again and again, and processes that end unseen by their parents for a while
stress-ng --wait 2 --wait-ops 60 --zombie 1 --zombie-ops 100 --vfork 1 --vfork-ops 40 -t 1
