// How the agent comes into the target, and how the target's end is noticed.
#pragma once
#include "lib/loader/agent/agent.h"

namespace egpu::agent {

/// Runs the last snapshot at exit(), before the exit handlers registered so far. Called when the
/// driver's own are certainly registered: exit handlers run last in, first out.
void register_exit_handler();

/// Body of the agent's thread in start mode (connected, hooks in place) and in attach mode.
void *run_started(void *);
void *run_attached(void *);

/// hello, entries, hooks_ready. Null if the hooks are in place, else what went wrong.
const char *handshake(session::Mode mode);

/// Ends this thread's session for good. True: an attach came while it was ending, and this thread
/// serves it next.
bool next_attach();

/// The path that egpu_agent_attach was called with; room for 108 bytes. False: none waits.
bool take_attach(char *path);

}  // namespace egpu::agent
