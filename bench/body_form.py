#!/usr/bin/env python3
"""What a probe's body costs inline at each site, and as one .func that each site calls.

    bench/body_form.py [ARCH]        registers, SASS instructions of all code, seconds of ptxas; needs ptxas
                                     and nvlink, no GPU; default sm_90; a table of docs/facts.md, section 2
    bench/body_form.py --time        event time over that of the kernel without a body; needs a GPU and its
                                     driver, no toolkit; the best of 9 launches of 2^20 threads

The kernel is a chain of loads, one site each; the bodies mix address and site in steps and end in one red,
which --time puts behind a condition that never holds: it asks what the code costs, not the atomics.
"""
import ctypes
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

TIME = sys.argv[1:] == ["--time"]
ARCH = sys.argv[1] if len(sys.argv) > 1 and not TIME else "sm_90"
THREADS, BLOCK, ROUNDS = 1 << 20, 256, 9
STATEMENTS, SITES = (5, 40, 200, 1000), (1, 10, 100)
MAP_ADDRESS = "0x7f1234560000"
MAP = f".reg .b64 egpu_map_0; mov.b64 egpu_map_0, {MAP_ADDRESS};\n"
# The time of a million atomics on 64 addresses would hide the code's: when time is taken, no thread has this value.
RED_GUARD = ".reg .pred egpu_p; setp.eq.u64 egpu_p, %rd8, 0x123456789abcdef1;" if TIME else ""
STEPS = ("xor.b64 %rd{a}, %rd{a}, %rd{b};", "mul.lo.s64 %rd{a}, %rd{a}, 2654435769;",
         "shr.u64 %rd7, %rd{b}, 13; add.s64 %rd{a}, %rd{a}, %rd7;")


def body(statements):
    lines = [".reg .b32 %r<8>; .reg .b64 %rd<16>; mov.b64 %rd1, egpu_addr; mov.b32 %r1, egpu_site; cvt.u64.u32 %rd2, %r1;"]
    lines += [f"xor.b64 %rd{r}, %rd1, {0x9E3779B9 * r};" for r in (3, 4, 5, 6)]
    count, step = 9, 0
    while count < statements:
        text = STEPS[step % 3].format(a=step % 6 + 1, b=(step + 1) % 6 + 1)
        lines.append(text)
        count, step = count + text.count(";"), step + 1
    lines += ["xor.b64 %rd8, %rd1, %rd2; xor.b64 %rd8, %rd8, %rd3;", RED_GUARD,
              "and.b64 %rd8, %rd8, 504; add.s64 %rd9, egpu_map_0, %rd8;",
              f"{'@egpu_p ' if TIME else ''}red.global.add.u64 [%rd9], 1;"]
    return "\n".join(lines) + "\n"


def module(statements, sites, form):
    function = ""
    if form == "func":
        function = (".func egpu_probe_0(.param .b64 p_addr, .param .b32 p_site)\n{\n" + MAP +
                    ".reg .b64 egpu_addr; .reg .b32 egpu_site; ld.param.b64 egpu_addr, [p_addr]; ld.param.b32 egpu_site, [p_site];\n"
                    "{\n" + body(statements) + "}\nret;\n}\n")
    out = (f".version 9.0\n.target {ARCH}\n.address_size 64\n" + function +
           ".visible .entry k(.param .u64 a, .param .u64 o, .param .u32 n)\n{\n"
           ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .pred %p<2>;\n"
           "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u32 %r5, [n];\n"
           "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n"
           "setp.ge.u32 %p1, %r4, %r5;\n@%p1 bra L;\nmul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3;\n"
           "add.s64 %rd5, %rd2, %rd3; mov.f32 %f1, 0f00000000;\n")
    for site in range(sites):
        if form != "none":
            out += f"{{\n.reg .b64 egpu_addr; .reg .b32 egpu_site; add.s64 egpu_addr, %rd4, {128 * site}; mov.b32 egpu_site, {site};\n"
            out += ("{\n.param .b64 a0; .param .b32 a1; st.param.b64 [a0], egpu_addr; st.param.b32 [a1], egpu_site;\n"
                    "call egpu_probe_0, (a0, a1);\n}\n}\n" if form == "func" else MAP + "{\n" + body(statements) + "}\n}\n")
        out += f"ld.global.f32 %f2, [%rd4+{128 * site}];\nfma.rn.f32 %f1, %f1, %f2, %f2;\n"
    return out + "st.global.f32 [%rd5], %f1;\nL: ret;\n}\n"


def instructions(cubin):
    """SASS instructions (16 bytes each) of all .text sections, without the padding behind their ends."""
    data = cubin.read_bytes()
    start, = struct.unpack_from("<Q", data, 40)
    count, names_index = struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQ", data, start + 64 * i) for i in range(count)]
    names = headers[names_index][4]
    total = 0
    for name, _, _, _, offset, size in headers:
        if not data[names + name:].startswith(b".text"):
            continue
        codes = [struct.unpack_from("<Q", data, offset + i)[0] & 0xFFF for i in range(0, size, 16)]
        while codes and codes[-1] == 0x918:  # NOP
            codes.pop()
        total += len(codes) - (bool(codes) and codes[-1] == 0x947)  # the branch to itself behind the last EXIT
    return total


def measure(folder, statements, sites, form):
    source, cubin, linked = folder / "k.ptx", folder / "k.cubin", folder / "linked.cubin"
    source.write_text(module(statements, sites, form))
    before = os.times().children_user
    subprocess.run(["ptxas", "-c", f"-arch={ARCH}", source, "-o", cubin], check=True)
    seconds = os.times().children_user - before
    done = subprocess.run(["nvlink", "-v", f"-arch={ARCH}", cubin, "-o", linked], check=True, capture_output=True, text=True)
    registers = re.search(r"used (\d+) registers", done.stdout + done.stderr)[1]
    return f"{registers}, {instructions(cubin)}, {seconds:.2f}"


class Gpu:
    """The first device, through the driver's API; every call that fails ends the program."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.events = [self.made("cuEventCreate", 0) for _ in range(2)]

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status != 0:
            sys.exit(f"body_form: {name} failed with {status}")

    def made(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def memory(self, size):
        address = self.made("cuMemAlloc_v2", ctypes.c_size_t(size))
        self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return address

    def kernel(self, ptx):
        """Linked as egpu-load's agent links it: cuLink*, which compiles as ptxas -c."""
        text, cubin = ptx.encode() + b"\0", ctypes.c_void_p()
        link = ctypes.c_void_p()
        self.call("cuLinkCreate_v2", 0, None, None, ctypes.byref(link))
        self.call("cuLinkAddData_v2", link, 1, text, ctypes.c_size_t(len(text)), b"k", 0, None, None)
        self.call("cuLinkComplete", link, ctypes.byref(cubin), None)
        module = self.made("cuModuleLoadData", cubin)
        self.call("cuLinkDestroy", link)
        return self.made("cuModuleGetFunction", module, b"k")

    def milliseconds(self, kernel, *arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
        times = []
        for _ in range(ROUNDS):
            self.call("cuEventRecord", self.events[0], None)
            self.call("cuLaunchKernel", kernel, THREADS // BLOCK, 1, 1, BLOCK, 1, 1, 0, None, pointers, None)
            self.call("cuEventRecord", self.events[1], None)
            self.call("cuEventSynchronize", self.events[1])
            span = ctypes.c_float()
            self.call("cuEventElapsedTime", ctypes.byref(span), *self.events)
            times.append(span.value)
        return min(times)


def sizes():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print("without a body:", "; ".join(f"{s} site(s): {measure(folder, 5, s, 'none')}" for s in SITES))
        table(lambda n, s, form: measure(folder, n, s, form))


def times():
    gpu = Gpu()
    values, output, counts = gpu.memory(4 * (THREADS + 32 * max(SITES))), gpu.memory(4 * THREADS), gpu.memory(512)

    def time(statements, sites, form):
        text = module(statements, sites, form).replace(MAP_ADDRESS, hex(counts.value))
        return gpu.milliseconds(gpu.kernel(text), values, output, ctypes.c_uint32(THREADS))

    without = {s: time(5, s, "none") for s in SITES}
    print("without a body:", "; ".join(f"{s} site(s): {1000 * ms:.1f} us" for s, ms in without.items()))
    table(lambda n, s, form: f"{time(n, s, form) / without[s]:.2f}")


def table(cell):
    """One row for each length of a body; cell(statements, sites, form) gives the text of one."""
    print("| body | " + " | ".join(f"sites: {s}, inline | func" for s in SITES) + " |")
    print("|---" * (1 + 2 * len(SITES)) + "|")
    for n in STATEMENTS:
        print(f"| {n} statements | " + " | ".join(cell(n, s, form) for s in SITES for form in ("inline", "func")) + " |", flush=True)


if __name__ == "__main__":
    times() if TIME else sizes()
