#!/bin/sh
# a barrier, a lock that is handed on, and tasks that yield, beside hogs
exec rt-app w.json
