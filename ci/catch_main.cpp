// Catch2 2.x wants its main compiled once; 3.x brings a library for it.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
