#!/bin/sh
# tasks that bind themselves to one CPU after the other, and hogs that may use all
stress-ng --affinity 1 --affinity-rand --affinity-delay 2000000 --cpu 5 --timeout 1 --quiet
