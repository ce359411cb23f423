#!/bin/sh
hackbench -p -g 1 -f 6 -l 80 &
rt-app w.json; wait
