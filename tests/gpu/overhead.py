#!/usr/bin/env python3
"""What probes cost on a GPU: event-time ratio and registers added, per kernel.

    overhead.py --package DIR --nbench FILE --vadd FILE [--rounds 5] [--scale 1]

DIR is an unpacked package of scripts/package.sh; nbench and vadd are bench/*.cu built with
`nvcc -O3 -gencode arch=compute_90,code=[sm_90,compute_90]`. Each round runs every program without
and with each probe, one after the other, so that drift hits all alike; a kernel's figure is the
median over the rounds of the programs' own medians. Registers: ptxas -v of the module before and
after patching (--save-ptx). Wall time per launch is nbench's launch-to-completion time of k_tiny.
"""
import argparse
import math
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

PROBES = ["empty", "counter", "histogram", "blockhist", "loads"]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def times(text):
    """{kernel: (event us, wall us or None, checksum or None)} of nbench's or vadd's table."""
    rows = {}
    for line in text.splitlines():
        cells = line.split(",")
        if len(cells) == 4 and cells[0] != "kernel":
            rows[cells[0]] = (float(cells[2]), float(cells[1]), cells[3])
        if len(cells) == 2 and cells[0] != "kernel":
            rows[cells[0]] = (float(cells[1]), None, None)
    return rows


def registers(ptx, arch):
    """{kernel: (registers, local bytes)} by ptxas."""
    done = subprocess.run(["ptxas", "-v", f"-arch={arch}", "-o", "/dev/null", str(ptx)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"ptxas {ptx}:\n{done.stderr}")
    found, kernel, local = {}, None, 0
    for line in done.stderr.splitlines():
        if match := re.search(r"Compiling entry function '([^']+)'", line):
            kernel = match.group(1)
        if match := re.search(r"(\d+) bytes stack frame", line):
            local = int(match.group(1))
        if match := re.search(r"Used (\d+) registers", line):
            found[kernel] = (int(match.group(1)), local)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", required=True)
    parser.add_argument("--nbench", required=True)
    parser.add_argument("--vadd", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--arch", default="sm_90")
    args = parser.parse_args()
    package = pathlib.Path(args.package)
    load = str(package / "bin/egpu-load")
    programs = {"nbench": [args.nbench, "40", args.scale], "vadd": [args.vadd, "21"]}

    samples, added, checksums = {}, {}, {}
    for name, program in programs.items():
        for _ in range(args.rounds):
            for probe in [None, *PROBES]:
                saved = tempfile.mkdtemp()
                command = program if probe is None else [
                    load, "--no-dump", "--save-ptx", saved, str(package / f"share/egpu/probes/{probe}.bpf.o"), "--", *program]
                for kernel, (event, wall, checksum) in times(run(command)).items():
                    samples.setdefault((probe, kernel), []).append((event, wall))
                    if checksums.setdefault(kernel, checksum) != checksum:
                        raise SystemExit(f"{kernel}: checksum {checksum} with {probe}, {checksums[kernel]} without")
                if probe is None or (name, probe) in added:
                    continue
                added[name, probe] = {}
                for original in sorted(pathlib.Path(saved).glob("*-original.ptx")):
                    before = registers(original, args.arch)
                    after = registers(original.with_name(original.name.replace("original", "patched")), args.arch)
                    for kernel, (count, local) in after.items():
                        added[name, probe][kernel] = (count - before[kernel][0], local - before[kernel][1], before[kernel][0])

    kernels = [kernel for probe, kernel in samples if probe is None]
    median = lambda probe, kernel, which: statistics.median(row[which] for row in samples[probe, kernel])
    print(f"{'kernel':10} {'base us':>8} {'regs':>5} " + " ".join(f"{probe:>18}" for probe in PROBES) + "    (event-time ratio, registers added, local bytes added)")
    ratios = {probe: [] for probe in PROBES}
    more = {probe: [] for probe in PROBES}
    for kernel in kernels:
        name = "vadd" if kernel in ("vadd", "loop") else "nbench"
        cells, before = [], 0
        base = median(None, kernel, 0)
        for probe in PROBES:
            if kernel not in added[name, probe]:
                cells.append("no site")
                continue
            ratio = median(probe, kernel, 0) / base
            registers_added, local, before = added[name, probe][kernel]
            cells.append(f"{ratio:8.3f} {registers_added:+4d} {local:+4d}")
            if name == "nbench":
                ratios[probe].append(ratio)
                more[probe].append(registers_added)
        print(f"{kernel:10} {base:8.2f} {before:5d} " + " ".join(f"{cell:>18}" for cell in cells))
    means = [f"{math.exp(statistics.mean(map(math.log, ratios[p]))):8.3f} {statistics.mean(more[p]):+5.1f}    " for p in PROBES]
    print(f"{'mean of 8':10} {'':8} {'':5} " + " ".join(f"{cell:>18}" for cell in means) + "    (geometric mean, arithmetic mean)")
    base = median(None, "k_tiny", 1)
    print("wall us per launch of k_tiny: " + f"none {base:.2f}, " + ", ".join(f"{p} {median(p, 'k_tiny', 1):.2f} ({median(p, 'k_tiny', 1) - base:+.2f})" for p in PROBES))


if __name__ == "__main__":
    main()
