"""64 tasks of 1 ms every 4 ms on 16 CPUs under SimSo's global EDF: the nearest it has to the job `sleepers`.

Prints events a second of CPU time. An event is an activation or a job that is given a CPU, as a wakeup and a switch are.
"""

import contextlib
import os
import time

from simso.configuration import Configuration
from simso.core import Model

configuration = Configuration()
configuration.duration = 2000 * configuration.cycles_per_ms
for i in range(64):
    configuration.add_task(
        name=f"task{i}", identifier=i, period=4, activation_date=i / 64, wcet=1, deadline=4
    )
for i in range(16):
    configuration.add_processor(name=f"cpu{i}", identifier=i)
configuration.scheduler_info.clas = "simso.schedulers.EDF"
configuration.check_all()
model = Model(configuration)
began = time.process_time()
# The scheduler prints each of its decisions.
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    model.run_model()
took = time.process_time() - began
activations = sum(len(task.jobs) for task in model.task_list)
switches = sum(1 for cpu in model.processors for _ in cpu.monitor)
print(f"{(activations + switches) / took:.0f}")
