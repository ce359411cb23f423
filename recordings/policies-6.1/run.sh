#!/bin/sh
# tasks change their own policies, the class among them
stress-ng --schedpolicy 3 --timeout 1 &
stress-ng --cpu 3 --timeout 1 &
stress-ng --sem 1 --timeout 1 &
wait
