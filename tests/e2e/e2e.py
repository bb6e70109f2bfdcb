#!/usr/bin/env python3
"""End-to-end tests: the three tools on real programs, on the simulated GPU or on a real one.

    e2e.py --tools build/ci/bin --examples build/ci/examples --sim build/ci/lib/sim [CASE...]
    e2e.py --tools DIR --examples DIR --probes DIR            on a machine with a GPU (no clang needed:
                                                              DIR holds the probes' .bpf.o files)
    e2e.py --cases                                            the names of all cases

Prints a row per check: PASS, FAIL or SKIP, the case, what was checked and the numbers. Exit status
0: all passed, 1: something failed, 77: everything was skipped.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
EXAMPLES = ["vecadd", "vecadd_ns", "reduce", "matmul", "diverge"]
STALL_LIMIT_MS = 5  # kernels of 1 ms, an attach in between (a simulated GPU has no meaningful times)
PROBES = ["args", "blockdur", "diverge", "kcount", "launchlat", "memheat", "smload"]


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Bench:
    """Where things are, and how to run them."""

    def __init__(self, args):
        self.tools = pathlib.Path(args.tools).resolve()
        self.examples = pathlib.Path(args.examples).resolve()
        self.objects = pathlib.Path(args.probes).resolve() if args.probes else None
        self.sim = pathlib.Path(args.sim).resolve() if args.sim else None
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="egpu-e2e-"))
        self.environment = dict(os.environ)
        self.environment["EGPU_RUNTIME_DIR"] = str(self.scratch / "run")
        if self.sim:
            self.environment["LD_LIBRARY_PATH"] = str(self.sim)
        self.children = []

    def tool(self, name):
        return str(self.tools / name)

    def example(self, name, *args):
        return [str(self.examples / name), *args]

    def probe(self, name):
        """A compiled probe; made by egpu-cc unless --probes has it."""
        if self.objects:
            return str(self.objects / f"{name}.bpf.o")
        target = self.scratch / f"{name}.bpf.o"
        if not target.exists():
            for directory in (SOURCE / "probes", HERE / "probes", SOURCE / "bench/probes"):
                source = directory / f"{name}.bpf.c"
                if source.exists():
                    self.check([self.tool("egpu-cc"), str(source), "-o", str(target)])
                    break
            else:
                raise Failure(f"no probe {name}")
        return str(target)

    def run(self, command, timeout=240, **more):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=timeout, **more)

    def check(self, command, status=0, **more):
        done = self.run(command, **more)
        if done.returncode != status:
            raise Failure(f"{' '.join(map(str, command))}: status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done

    def start(self, command, **more):
        child = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.children.append(child)
        return child

    def load(self, probe, target, *options, status=0):
        """Runs egpu-load in start mode with JSON output. Returns (maps by name, target's lines, stderr)."""
        output = self.scratch / "maps.json"
        done = self.check([self.tool("egpu-load"), "-j", "-o", str(output), *options, self.probe(probe), "--", *target], status)
        return read_maps(output), done.stdout.splitlines(), done.stderr

    def stop_children(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()


def read_maps(path):
    maps = {}
    for line in pathlib.Path(path).read_text().splitlines():
        row = json.loads(line)
        if "map" in row:
            maps.setdefault(row["map"], row)
        elif "printk" in row:
            maps.setdefault("printk", []).append(row["printk"])
    return maps


def expect(what, got, wanted):
    if got != wanted:
        raise Failure(f"{what}: got {got}, expected {wanted}")


def counts_of(bench, target):
    """The analytic counts that an example prints, summed over its kernels."""
    done = bench.check([*target, "--print-counts"])
    kernels = next(json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))["kernels"]
    return {k: sum(kernel.get(k, 0) for kernel in kernels) for k in ("launches", "blocks", "warps", "threads", "global_loads", "global_stores", "global_bytes")}, kernels


def value_of(entry):
    value = entry["value"]
    return value if not isinstance(value, dict) or len(value) != 1 else next(iter(value.values()))


def histogram_count(entry):
    value = entry["value"]
    while "slots" not in value:
        value = next(iter(value.values()))
    expect("histogram's count is its slots' sum", sum(slot["count"] for slot in value["slots"]), value["count"])
    return value["count"]


def globals_of(maps):
    values = {}
    for name, row in maps.items():
        if isinstance(row, dict) and (name.startswith(".bss") or name.startswith(".data") or "variables" in row):
            for entry in row.get("entries", []):
                if isinstance(entry["value"], dict):
                    values.update(entry["value"])
    return values


# ---------------------------------------------------------------- start mode

def kcount_vecadd(bench):
    """kcount counts exactly 23 launches over 3 streams and 2 host threads"""
    maps, lines, _ = bench.load("kcount", bench.example("vecadd"))
    entries = maps["launches"]["entries"]
    expect("kernels", [e["key"].get("kernel", e["key"]) if isinstance(e["key"], dict) else e["key"] for e in entries], ["vecadd"])
    expect("launches", entries[0]["value"], 23)
    expect("the program's own check", lines[-1], "PASS vecadd")
    return "23 launches"


def kcount_graph(bench):
    """launches by a captured graph's replays are counted"""
    maps, _, _ = bench.load("kcount", bench.example("vecadd", "--graph", "5"))
    expect("launches", maps["launches"]["entries"][0]["value"], 23)
    return "23 launches, 5 of them replays"


def launch_forms(bench):
    """every way to launch is counted: Ex, cooperative, per-thread stream, library API"""
    if "driver-API" in bench.run(bench.example("vecadd", "--launch", "ex")).stdout:
        raise Skip("the runtime-API build of the examples launches in one form only")
    for options in (["--launch", "ex"], ["--launch", "cooperative"], ["--launch", "per-thread"], ["--api", "library"]):
        maps, _, _ = bench.load("kcount", bench.example("vecadd", *options))
        expect(f"launches with {options}", maps["launches"]["entries"][0]["value"], 23)
    return "4 forms"


def blockdur_vecadd(bench):
    """blockdur's histogram holds exactly launches x blocks"""
    maps, _, _ = bench.load("blockdur", bench.example("vecadd"))
    expect("blocks", histogram_count(maps["duration"]["entries"][0]), 23 * 7)
    return "161 blocks"


def smload_sums(bench):
    """smload: blocks over all SMs sum to the analytic count"""
    for name in EXAMPLES:
        counts, _ = counts_of(bench, bench.example(name))
        maps, _, _ = bench.load("smload", bench.example(name))
        expect(f"{name}: blocks", sum(e["value"]["blocks"] for e in maps["sms"]["entries"]), counts["blocks"])
    return f"{len(EXAMPLES)} programs"


def scopes(bench):
    """each scope's entry and exit counts are the analytic ones (early exits, partial warps, 1-thread blocks)"""
    rows = 0
    targets = [bench.example(name) for name in EXAMPLES]
    targets += [bench.example("vecadd", "--block", str(block)) for block in (1, 31, 33, 1000)]
    targets += [bench.example("reduce", "--block", str(block)) for block in (32, 1024)]
    for target in targets:
        counts, _ = counts_of(bench, target)
        maps, _, _ = bench.load("scopes", target)
        values = globals_of(maps)
        for scope, counted in (("thread", "threads"), ("warp", "warps"), ("block", "blocks"), ("grid", "launches")):
            for event in ("entries", "exits"):
                expect(f"{' '.join(target[0:])}: {scope}_{event}", values[f"{scope}_{event}"], counts[counted])
                rows += 1
    return f"{rows} counts"


def clusters(bench):
    """kernels in clusters keep them under probes: counts are exact, distributed shared memory holds the same"""
    nvcc = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not nvcc:
        raise Skip("no nvcc")
    program = bench.scratch / "cluster"
    bench.check([nvcc, "-std=c++17", "-arch=sm_90", "-cudart", "shared", str(SOURCE / "tests/sim-runtime/programs/cluster.cu"), "-o", str(program)])
    plain = bench.check([str(program)]).stdout.splitlines()
    for probe in ("scopes", "cookies", "memheat"):
        maps, lines, _ = bench.load(probe, [str(program)])
        expect(f"{probe}: the program's output", lines, plain)
        if probe == "scopes":
            values = globals_of(maps)
            counted = dict(zip(*[iter(next(line for line in lines if line.startswith("launches")).split())] * 2))
            counted["warps"] = int(counted["threads"]) // 32
            for scope, what in (("thread", "threads"), ("warp", "warps"), ("block", "blocks"), ("grid", "launches")):
                for event in ("entries", "exits"):
                    expect(f"{scope}_{event}", values[f"{scope}_{event}"], int(counted[what]))
    return f"{counted['launches']} launches in clusters of 1 to 16, 3 probes"


def cookies(bench):
    """an exit reads what its scope's entry wrote"""
    for target in (bench.example("vecadd"), bench.example("reduce"), bench.example("diverge")):
        counts, _ = counts_of(bench, target)
        values = globals_of(bench.load("cookies", target)[0])
        expect("checked", values["checked"], counts["threads"] + counts["blocks"] + counts["launches"])
        expect("wrong", values["wrong"], 0)
    return "3 programs"


def ballots(bench):
    """gpu_ballot() at a load asks the lanes that load together"""
    counts, _ = counts_of(bench, bench.example("vecadd"))
    values = globals_of(bench.load("ballots", bench.example("vecadd"))[0])
    expect("lanes", values["lanes"], counts["global_loads"])
    expect("wrong", values["wrong"], 0)
    return f"{values['lanes']} loads"


def memheat_exact(bench):
    """memheat without sampling: loads, stores and bytes are the analytic ones"""
    counts, _ = counts_of(bench, bench.example("vecadd"))
    maps, _, _ = bench.load("memheat", bench.example("vecadd"), "-s", "sample_mask=0")
    entries = maps["heat"]["entries"]
    total = {k: sum(value for e in entries for key, value in e["value"].items() if key.startswith(k)) for k in ("loads", "stores", "bytes")}
    expect("loads", total["loads"], counts["global_loads"])
    expect("stores", total["stores"], counts["global_stores"])
    expect("bytes", total["bytes"], counts["global_bytes"])
    return f"{total['bytes']} bytes on {len(entries)} pages"


def diverge_branches(bench):
    """diverge: in vecadd only the bounds check's warp that straddles n splits"""
    # 7 blocks of 256 threads, n = 1779: the last block's last warp has 19 of 32 threads inside.
    maps, _, _ = bench.load("diverge", bench.example("vecadd"))
    entries = maps["branches"]["entries"]
    counts, _ = counts_of(bench, bench.example("vecadd"))
    expect("branches executed", sum(e["value"]["executed"] for e in entries), counts["warps"])
    expect("divergent", sum(e["value"]["divergent"] for e in entries), 23)
    return f"{counts['warps']} executed, 23 divergent"


def args_printk(bench):
    """args prints the kernel's typed arguments, a line per launch"""
    maps, lines, _ = bench.load("args", bench.example("vecadd_ns"))
    expect("lines", len(maps["printk"]), 23)
    expect("distinct lines", sorted(set(maps["printk"])), ["vecadd n=1779 grid=7"])
    return maps["printk"][0]


def same_results(bench):
    """with every probe, each example passes its own check and writes identical memory"""
    runs = 0
    for name in EXAMPLES:
        plain = bench.scratch / "plain.bin"
        bench.check(bench.example(name, "--dump", str(plain)))
        for probe in PROBES + ["scopes", "cookies"]:
            probed = bench.scratch / "probed.bin"
            _, lines, _ = bench.load(probe, bench.example(name, "--dump", str(probed)), "--missing=warn")
            if not lines[-1].startswith("PASS"):
                raise Failure(f"{probe} on {name}: {lines[-1]}")
            if plain.read_bytes() != probed.read_bytes():
                raise Failure(f"{probe} on {name}: output memory differs")
            runs += 1
    return f"{runs} runs"


def launchlat_counts(bench):
    """launchlat: one latency per launch, none absurd"""
    maps, _, _ = bench.load("launchlat", bench.example("vecadd"))
    entry = maps["latency"]["entries"][0]
    expect("launches", histogram_count(entry), 23)
    return "23 launches"


def status_passes(bench):
    """COMMAND's status comes through; signals are raised again"""
    probe = bench.probe("kcount")
    for command, status in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -TERM $$"], -15)):
        done = bench.run([bench.tool("egpu-load"), "--missing=warn", probe, "--", *command])
        expect("status", done.returncode, status)
    for command, status in (("/nonexistent/x", 127), ("/etc/passwd", 126)):
        expect(command, bench.run([bench.tool("egpu-load"), probe, "--", command]).returncode, status)
    return "4 statuses"


# ---------------------------------------------------------------- attach

def start_loop(bench, *options):
    child = bench.start(bench.example("vecadd_loop", "--seconds", "120", *options))
    if not child.stdout.readline().startswith("ready"):
        raise Failure(f"vecadd_loop ended early: {child.communicate()}")
    return child


def end_loop(child):
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=60)
    if child.returncode != 0:
        raise Failure(f"vecadd_loop: status {child.returncode}\n{out}{err}")
    launches, worst = re.search(r"launches (\d+), launch to launch: mean [\d.]+ ms, worst ([\d.]+) ms", out).groups()
    return int(launches), float(worst)


def launches_in(output):
    return sum(e["value"] for e in read_maps(output)["launches"]["entries"])


def attach_once(bench):
    """--pid: counting starts at a later launch, ends at detach; the loop goes on and is right"""
    child = start_loop(bench)
    output = bench.scratch / "maps.json"
    done = bench.check([bench.tool("egpu-load"), "-j", "-o", str(output), "-d", "2", "--pid", str(child.pid), bench.probe("kcount")])
    counted = launches_in(output)
    time.sleep(0.5)
    launches, worst_ms = end_loop(child)
    if not 0 < counted < launches:
        raise Failure(f"counted {counted} of {launches} launches\n{done.stderr}")
    if not bench.sim and worst_ms > STALL_LIMIT_MS:
        raise Failure(f"the longest launch to launch was {worst_ms} ms, the limit is {STALL_LIMIT_MS} ms")
    return f"{counted} of {launches} launches, longest launch to launch {worst_ms} ms"


def attach_starting(bench):
    """--pid at any moment of the target's start: attached to or refused, and it goes on"""
    refusals = 0
    for k in range(6):
        child = bench.start(bench.example("vecadd_loop", "--seconds", "120"))
        time.sleep(0.02 * k * (1 if bench.sim else 10))
        done = bench.run([bench.tool("egpu-load"), "-d", "2", "--pid", str(child.pid), bench.probe("kcount")])
        if done.returncode != 0:
            refusals += 1
            expect("the refusal", "does not use CUDA" in done.stderr or done.stderr, True)
            child.stdout.readline()
        end_loop(child)
    return f"6 starts, refused {refusals} times"


def attach_interrupt(bench):
    """Ctrl-C detaches, prints the maps and leaves the target running, untraced"""
    child = start_loop(bench)
    load = bench.start([bench.tool("egpu-load"), "--pid", str(child.pid), bench.probe("blockdur")])
    time.sleep(2.0)
    load.send_signal(signal.SIGINT)
    out, err = load.communicate(timeout=30)
    expect("egpu-load's status", load.returncode, 0)
    if "duration" not in out:
        raise Failure(f"no map printed:\n{out}{err}")
    status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
    expect("tracer", [line.split()[1] for line in status.splitlines() if line.startswith("TracerPid")], ["0"])
    end_loop(child)
    return "maps printed, target went on"


def attach_live_reads(bench):
    """egpu-map reads growing counts while the target runs"""
    child = start_loop(bench)
    load = bench.start([bench.tool("egpu-load"), "--pid", str(child.pid), bench.probe("kcount")])
    time.sleep(2.0)
    readings = []
    for _ in range(3):
        done = bench.check([bench.tool("egpu-map"), "-j", "dump", "launches"])
        readings.append(sum(e["value"] for e in json.loads(done.stdout)[0]["entries"]))
        time.sleep(0.3)
    listed = bench.check([bench.tool("egpu-map"), "list"]).stdout
    load.send_signal(signal.SIGINT)
    load.communicate(timeout=30)
    end_loop(child)
    if not 0 < readings[0] < readings[1] < readings[2]:
        raise Failure(f"readings do not grow: {readings}")
    if "launches" not in listed:
        raise Failure(f"egpu-map list:\n{listed}")
    return f"readings {readings}"


def attach_many(bench, times=None):
    """attach, detach, attach again: every time launches are counted, and the loop stays right"""
    times = times or int(os.environ.get("EGPU_ATTACH_TIMES", "100"))
    child = start_loop(bench)
    probe, output = bench.probe("kcount"), bench.scratch / "maps.json"
    before = resident_kib(child.pid)
    for i in range(times):
        bench.check([bench.tool("egpu-load"), "-j", "-o", str(output), "-d", "0.3", "--pid", str(child.pid), probe])
        if launches_in(output) <= 0:
            raise Failure(f"attach {i}: nothing counted")
    grown = resident_kib(child.pid) - before
    _, worst_ms = end_loop(child)
    if not bench.sim and worst_ms > STALL_LIMIT_MS:
        raise Failure(f"the longest launch to launch was {worst_ms} ms, the limit is {STALL_LIMIT_MS} ms")
    return f"{times} times, target grew by {grown} KiB, longest launch to launch {worst_ms} ms"


def resident_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def attach_killed(bench):
    """SIGKILL of egpu-load at any moment leaves the target running unprobed; it can be attached again"""
    child = start_loop(bench)
    probe = bench.probe("kcount")
    for i in range(20):
        load = bench.start([bench.tool("egpu-load"), "--pid", str(child.pid), probe])
        time.sleep(0.01 + 0.03 * i)
        load.kill()
        load.communicate()
        if child.poll() is not None:
            raise Failure(f"the target died when egpu-load was killed (round {i}): {child.returncode}")
    time.sleep(0.5)
    output = bench.scratch / "maps.json"
    bench.check([bench.tool("egpu-load"), "-j", "-o", str(output), "-d", "1", "--pid", str(child.pid), probe])
    if launches_in(output) <= 0:
        raise Failure("nothing counted after the kills")
    end_loop(child)
    return "20 kills"


def attach_target_exits(bench):
    """a target that ends while attached: the maps are printed and egpu-load ends with 0"""
    child = start_loop(bench)
    output = bench.scratch / "maps.json"
    load = bench.start([bench.tool("egpu-load"), "-j", "-o", str(output), "--pid", str(child.pid), bench.probe("kcount")])
    time.sleep(2.0)
    end_loop(child)
    _, err = load.communicate(timeout=30)
    expect("egpu-load's status", load.returncode, 0)
    counted = launches_in(output)
    if counted <= 0:
        raise Failure(f"nothing counted\n{err}")
    return f"{counted} launches"


def attach_target_killed(bench):
    """a target that is killed while attached: said, with the age of the last data"""
    child = start_loop(bench)
    load = bench.start([bench.tool("egpu-load"), "--pid", str(child.pid), bench.probe("kcount")])
    time.sleep(2.5)
    child.kill()
    _, err = load.communicate(timeout=30)
    if "ended without a last snapshot" not in err:
        raise Failure(f"not said:\n{err}")
    return err.strip().splitlines()[-1]


# ---------------------------------------------------------------- errors

def refused(bench, command, status, *fragments, **more):
    done = bench.run(command, **more)
    expect(f"{' '.join(map(str, command))}: status", done.returncode, status)
    for fragment in fragments:
        if fragment not in done.stderr:
            raise Failure(f"{' '.join(map(str, command))}: no '{fragment}' in:\n{done.stderr}")


def errors(bench):
    """errors name the object and the cause"""
    load, kcount = bench.tool("egpu-load"), bench.probe("kcount")
    refused(bench, [load, "--pid", "999999999", kcount], 125, "999999999", "no such process")
    refused(bench, [load, "--pid", "1x", kcount], 125, "--pid: not a process id: '1x'")
    sleeper = bench.start(["sleep", "60"])
    refused(bench, [load, "--pid", str(sleeper.pid), kcount], 125, "CUDA")
    refused(bench, [load, kcount], 125, "no target", "hint")
    refused(bench, [load, kcount, bench.example("vecadd")[0]], 125, "unexpected argument", "--")
    refused(bench, [load, "nosuch.bpf.o", "--", "true"], 125, "nosuch.bpf.o")
    truncated = bench.scratch / "short.bpf.o"
    truncated.write_bytes(pathlib.Path(kcount).read_bytes()[:300])
    refused(bench, [load, str(truncated), "--", "true"], 125, "short.bpf.o")
    refused(bench, [load, "-s", "nosuch=1", bench.probe("memheat"), "--", "true"], 125, "nosuch")
    refused(bench, [bench.tool("egpu-map"), "dump", "nosuch"], 1, "no live session")
    with open("/dev/full", "w") as full:
        done = subprocess.run([load, kcount, "--", *bench.example("vecadd")], env=bench.environment, stdout=full, stderr=subprocess.PIPE, text=True)
    if "No space left" not in done.stderr:
        raise Failure(f"stdout full: {done.stderr}")
    return "10 errors"


def no_match(bench):
    """a probe that matches nothing is an error that names near kernels"""
    if bench.objects and not (bench.objects / "nomatch.bpf.o").exists():
        raise Skip("nomatch.bpf.o was not carried")
    refused(bench, [bench.tool("egpu-load"), bench.probe("nomatch"), "--", *bench.example("vecadd")], 125, "no kernel matches 'vecaddd'", "vecadd")
    child = start_loop(bench)
    refused(bench, [bench.tool("egpu-load"), "--pid", str(child.pid), bench.probe("nomatch")], 125, "no kernel matches 'vecaddd'", "vecadd")
    end_loop(child)
    return "start and attach"


def map_not_found(bench):
    """egpu-map names near maps"""
    child = start_loop(bench)
    load = bench.start([bench.tool("egpu-load"), "--pid", str(child.pid), bench.probe("kcount")])
    time.sleep(2.0)
    refused(bench, [bench.tool("egpu-map"), "dump", "launchs"], 1, "launchs", "launches")
    load.send_signal(signal.SIGINT)
    load.communicate(timeout=30)
    end_loop(child)
    return "launchs -> launches"


def not_ours(bench):
    """another user's process is refused"""
    if os.geteuid() != 0:
        raise Skip("needs root to start a process as another user")
    shared = pathlib.Path(tempfile.mkdtemp(prefix="egpu-user-"))
    shared.chmod(0o755)
    (shared / "bin").mkdir()
    shutil.copy(bench.tool("egpu-load"), shared / "bin")
    shutil.copy(bench.probe("kcount"), shared)
    shutil.copytree(bench.tools.parent / "lib", shared / "lib", ignore=lambda _, names: [n for n in names if not n.startswith("libZy")])
    sleeper = bench.start(["sleep", "60"])
    environment = dict(bench.environment, EGPU_RUNTIME_DIR=str(shared / "run"))
    done = subprocess.run([str(shared / "bin/egpu-load"), "--pid", str(sleeper.pid), str(shared / "kcount.bpf.o")], env=environment,
                          user=65534, group=65534, cwd="/", capture_output=True, text=True)
    expect("status", done.returncode, 125)
    if "belongs to user 0" not in done.stderr:
        raise Failure(done.stderr)
    return done.stderr.strip().splitlines()[0]


def sass_only(bench):
    """a program without PTX runs unprobed, and egpu-load says why"""
    if bench.sim:
        raise Skip("the simulated GPU runs no SASS")
    nvcc = shutil.which("nvcc")
    if not nvcc:
        raise Skip("no nvcc")
    bench.check([str(SOURCE / "examples/build-cuda.sh"), str(bench.scratch / "sass"), "-gencode", "arch=compute_90,code=sm_90"])
    done = bench.run([bench.tool("egpu-load"), bench.probe("kcount"), "--", str(bench.scratch / "sass/vecadd")])
    if "no PTX" not in done.stderr or "SASS only" not in done.stderr:
        raise Failure(done.stderr)
    expect("the program's own check", done.stdout.splitlines()[0], "PASS vecadd")
    expect("status", done.returncode, 125)
    return done.stderr.splitlines()[0]


def verbose_footprint(bench):
    """egpu-load -v: registers, local and shared bytes and blocks per SM, before and after"""
    _, _, err = bench.load("blockdur", bench.example("vecadd"), "-v")
    row = re.search(r"^vecadd: probed, 2 sites; registers (\d+) -> (\d+), local bytes (\d+) -> (\d+), shared bytes (\d+) -> (\d+), "
                    r"blocks per SM (\d+) -> (\d+)$", err, re.MULTILINE)
    if not row:
        raise Failure(err)
    registers, more_registers, local, more_local, shared, more_shared, blocks, fewer_blocks = map(int, row.groups())
    if not 0 < registers <= more_registers or more_local != local or not 0 < fewer_blocks <= blocks:
        raise Failure(row.group())
    expect("shared bytes: the count of leavers and the cookie", more_shared - shared, 16)
    _, _, err = bench.load("blockdur", bench.example("vecadd"))
    expect("without -v", "registers" in err, False)
    return row.group()


def list_kernels(bench):
    """egpu-load -l lists kernels and sites"""
    done = bench.check([bench.tool("egpu-load"), "-l", "--", *bench.example("vecadd")])
    if "vecadd" not in done.stdout or "1 entry" not in done.stdout:
        raise Failure(done.stdout)
    done = bench.check([bench.tool("egpu-load"), "-l", "*", bench.probe("memheat"), "--", *bench.example("vecadd")])
    if "on_load" not in done.stdout:
        raise Failure(done.stdout)
    return done.stdout.splitlines()[0]


CASES = {f.__name__: f for f in (
    kcount_vecadd, kcount_graph, launch_forms, blockdur_vecadd, smload_sums, scopes, clusters, cookies, ballots, memheat_exact, diverge_branches,
    args_printk, same_results, launchlat_counts, status_passes, attach_once, attach_starting, attach_interrupt, attach_live_reads, attach_many,
    attach_killed, attach_target_exits, attach_target_killed, errors, no_match, map_not_found, not_ours, sass_only, verbose_footprint, list_kernels)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools")
    parser.add_argument("--examples")
    parser.add_argument("--sim", help="directory of the simulator's libcuda.so.1; default: the system's driver")
    parser.add_argument("--probes", help="directory of compiled probes; default: made by egpu-cc")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    if args.cases:
        print("\n".join(CASES))
        return 0
    results = []
    for name in args.case or CASES:
        bench = Bench(args)
        begin = time.monotonic()
        try:
            result, text = "PASS", CASES[name](bench)
        except Skip as skip:
            result, text = "SKIP", str(skip)
        except (Failure, subprocess.TimeoutExpired, AssertionError, KeyError, IndexError, StopIteration, ValueError) as failure:
            result, text = "FAIL", f"{type(failure).__name__}: {failure}"
        finally:
            bench.stop_children()
        results.append(result)
        print(f"{result}  {name:22} {CASES[name].__doc__}: {text}  ({time.monotonic() - begin:.1f} s)", flush=True)
    if "FAIL" in results:
        return 1
    return 0 if "PASS" in results else 77


if __name__ == "__main__":
    sys.exit(main())
