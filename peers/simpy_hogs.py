"""64 tasks that only compute on 8 CPUs, in turn for 3 ms each, as the least program in SimPy: the nearest to the job `hogs`.

Prints switches a second of CPU time.
"""

import time
from collections import deque

import simpy

SLICE_MS = 3
switches = 0


def cpu(environment, queue):
    global switches
    while True:
        task = queue.popleft()
        switches += 1
        yield environment.timeout(SLICE_MS)
        queue.append(task)


environment = simpy.Environment()
for _ in range(8):
    environment.process(cpu(environment, deque(range(8))))
began = time.process_time()
environment.run(until=100_000)
print(f"{switches / (time.process_time() - began):.0f}")
