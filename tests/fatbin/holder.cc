// A process with known bytes in its memory: holder OFFSET ROOM < BYTES maps ROOM bytes, reads
// stdin to OFFSET in them, prints a line and waits to be killed. Small and unsanitized, so that
// a scan finds these bytes and nothing else.
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  size_t offset = strtoul(argv[1], nullptr, 0), room = strtoul(argv[2], nullptr, 0);
  char *at =
      static_cast<char *>(mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (ssize_t n; offset < room && (n = read(0, at + offset, room - offset)) > 0;)
    offset += static_cast<size_t>(n);
  if (write(1, "ready\n", 6) != 6) return 1;
  for (;;) pause();
}
