"""Prints a Perfetto trace, one line an event in order of time, from Perfetto's own message classes.

Fields are printed in the words of the kernel's tracepoints, so that the lines can be compared with
an ftrace text of the same events. With --flags: each event's common flags and running pid instead.
"""

import sys

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
        CounterDescriptor,
        Trace,
        TrackDescriptor,
        TrackEvent,
    )
except ImportError as error:
    sys.exit(f"cannot import Perfetto's messages: {error}")

STATES = {0: "R", 1: "S", 2: "D", 4: "T", 8: "t", 16: "X", 32: "Z", 64: "P", 128: "I", 256: "R+"}


def wakeup(e):
    return f"comm={e.comm} pid={e.pid} prio={e.prio} target_cpu={e.target_cpu:03}"


def generic(e):
    values = {f.name: getattr(f, f.WhichOneof("value")) for f in e.field}
    who = f"comm={values['comm']} pid={values['pid']}"
    if e.event_name == "sched_stat_runtime":
        return f"{who} runtime={values['runtime']} [ns]"
    return f"{who} target_cpu={values['target_cpu']:03}"


FTRACE = {
    "sched_switch": lambda e: (
        f"prev_comm={e.prev_comm} prev_pid={e.prev_pid} prev_prio={e.prev_prio} "
        f"prev_state={STATES[e.prev_state]} ==> "
        f"next_comm={e.next_comm} next_pid={e.next_pid} next_prio={e.next_prio}"
    ),
    "sched_waking": wakeup,
    "sched_wakeup": wakeup,
    "sched_wakeup_new": wakeup,
    "sched_migrate_task": lambda e: (
        f"comm={e.comm} pid={e.pid} prio={e.prio} orig_cpu={e.orig_cpu} dest_cpu={e.dest_cpu}"
    ),
    "sched_process_fork": lambda e: (
        f"comm={e.parent_comm} pid={e.parent_pid} child_comm={e.child_comm} child_pid={e.child_pid}"
    ),
    "sched_process_exec": lambda e: f"filename={e.filename} pid={e.pid} old_pid={e.old_pid}",
    "sched_process_exit": lambda e: f"comm={e.comm} pid={e.pid} prio={e.prio}",
    "cgroup_attach_task": lambda e: (
        f"dst_root={e.dst_root} dst_id={e.dst_id} dst_level={e.dst_level} "
        f"dst_path={e.dst_path} pid={e.pid} comm={e.comm}"
    ),
    "cpu_idle": lambda e: f"state={e.state} cpu_id={e.cpu_id}",
    "local_timer_entry": lambda e: f"vector={e.vector}",
    "generic": generic,
}


def ftrace_line(e):
    kind = e.WhichOneof("event")
    message = getattr(e, kind)
    name = message.event_name if kind == "generic" else kind
    return f"{name}: {FTRACE[kind](message)}"


def track_line(e, tracks):
    track = tracks[e.track_uuid]
    parent = tracks[track.parent_uuid] if track.parent_uuid else None
    if e.type == TrackEvent.TYPE_COUNTER:
        assert track.HasField("counter")
        nanos = track.name == "runtime_remaining"
        unit = CounterDescriptor.UNIT_TIME_NS if nanos else CounterDescriptor.UNIT_COUNT
        assert track.counter.unit == unit
        if parent is None:
            name = track.name
        elif parent.name.startswith("/"):
            name = f"{parent.name} {track.name}"
        else:
            name = f"{track.name} {parent.name}"
        return f"tracing_mark_write: C|0|{name}|{e.counter_value}"
    assert parent.child_ordering == TrackDescriptor.EXPLICIT
    words, cpu = track.name.split(" cpu")
    assert words == "throttled" and track.sibling_order_rank == int(cpu)
    where = f"path={parent.name} target_cpu={int(cpu):03}"
    [annotation] = e.debug_annotations
    if e.type == TrackEvent.TYPE_SLICE_BEGIN:
        assert e.name == "throttled" and list(e.categories) == ["cfs_bandwidth"]
        assert annotation.name == "runtime_remaining"
        return f"cfs_throttle: {where} runtime_remaining={annotation.int_value} [ns]"
    assert e.type == TrackEvent.TYPE_SLICE_END and annotation.name == "throttled_ns"
    return f"cfs_unthrottle: {where} throttled={annotation.int_value} [ns]"


def main():
    flags = "--flags" in sys.argv
    with open(sys.argv[-1], "rb") as file:
        trace = Trace.FromString(file.read())
    tracks, lines, timers = {}, [], {"local_timer_entry": 0, "local_timer_exit": 0}
    # The host's machine id is 0, which is not written.
    assert trace.packet[0].machine_id == 0
    for packet in trace.packet:
        kind = packet.WhichOneof("data")
        machine = f"m{packet.machine_id}." if packet.machine_id else ""
        if kind == "ftrace_events":
            for e in packet.ftrace_events.event:
                event = e.WhichOneof("event")
                if event in timers:
                    timers[event] += 1
                if event == "local_timer_exit":
                    continue
                place = f"{machine}cpu{packet.ftrace_events.cpu}"
                line = f"{e.timestamp} {place} {ftrace_line(e)}"
                if flags:
                    line = f"{e.timestamp} flags={e.common_flags} pid={e.pid}"
                lines.append((e.timestamp, line))
            continue
        assert packet.trusted_packet_sequence_id == packet.machine_id + 1
        if kind == "system_info":
            info = packet.system_info
            uts = info.utsname
            print(
                f"name {machine}system {uts.sysname} {uts.release} {uts.machine} {info.machine_name} "
                f"cpus={info.num_cpus} hz={info.hz}"
            )
        elif kind == "process_tree":
            for p in packet.process_tree.processes:
                print(f"name {machine}process {p.pid} {' '.join(p.cmdline)}")
            for t in packet.process_tree.threads:
                print(f"name {machine}thread {t.tid} of {t.tgid} {t.name}")
        elif kind == "track_descriptor":
            track = packet.track_descriptor
            assert track.uuid not in tracks, "of another machine"
            assert not track.parent_uuid or track.parent_uuid in tracks
            tracks[track.uuid] = track
        elif kind == "track_event":
            line = track_line(packet.track_event, tracks)
            lines.append((packet.timestamp, f"{packet.timestamp} {machine}track {line}"))
        else:
            sys.exit(f"unexpected packet: {packet}")
    assert timers["local_timer_entry"] == timers["local_timer_exit"]
    for _, line in sorted(lines, key=lambda pair: pair[0]):
        print(line)


main()
