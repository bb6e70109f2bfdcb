// AddressSanitizer guesses where the thread-local block of a library that dlopen brought begins, and
// guesses wrong for the simulated driver's, depending on where the heap lies: its leak check then
// reads a wild address. It need not look there: what the driver's one thread-local variable points to
// is also thread-specific data (pthread_setspecific).
extern "C" const char *__asan_default_options() { return "intercept_tls_get_addr=0"; }
