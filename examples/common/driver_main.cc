// An example as a driver-API program: the build names its host side.
#include EXAMPLE_HEADER
