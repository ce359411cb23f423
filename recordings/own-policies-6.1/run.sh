#!/bin/sh
# tasks that give themselves one policy after the other, some of them nicer than others, and yield
timeout 0.7 stress-ng --resched 1 --quiet
exit 0
