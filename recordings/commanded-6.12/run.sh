#!/bin/sh
# policies, nice levels and CPUs of hogs that commands change from outside, while they run and while they wait, beside programs that
# change their own policy
hog() { while :; do :; done; }
for i in 1 2 3 4 5 6; do (hog) & P="$P $!"; done
stress-ng --schedpolicy 2 --timeout 3 &
n=0
for r in 1 2 3 4 5; do
 for p in $P; do
  n=$((n+1))
  case $((n % 7)) in
   0) chrt -f -p 10 $p; sleep 0.03; chrt -o -p 0 $p;;
   1) chrt -r -p 5 $p; sleep 0.02; chrt -b -p 0 $p;;
   2) chrt -i -p 0 $p;;
   3) chrt -o -p 0 $p; renice -n $((n % 19)) -p $p > /dev/null;;
   4) chrt -b -p 0 $p;;
   5) taskset -pc $((n % 4)) $p > /dev/null; sleep 0.02; taskset -pc 0-3 $p > /dev/null;;
   6) chrt -f -p 30 $p; sleep 0.01; chrt -r -p 2 $p; sleep 0.01; chrt -o -p 0 $p;;
  esac
 done
 sleep 0.05
done
kill $P
wait
