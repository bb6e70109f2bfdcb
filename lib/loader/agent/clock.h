// From the device's %globaltimer to CLOCK_MONOTONIC.
//
// A one-thread kernel stores %globaltimer into host memory; the host polls the word and reads its
// own clock when it has changed. So time_host(read) - globaltimer >= the true offset, and the
// least of some tries is above it by the time of one store over the bus (about 1 us) at most.
// Taking this upper bound keeps the order of events: a GPU time, converted, is never before a
// host time that was taken earlier (launch_ns of the same launch, say).
#pragma once
#include "lib/loader/agent/contexts.h"

namespace egpu::agent {

/// Sets ktime_offset_ns of a context that is current; a warning if it cannot be measured.
void measure_clock(ContextState *state);

}  // namespace egpu::agent
