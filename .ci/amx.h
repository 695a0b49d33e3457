/* Included before every C and C++ source of llama.cpp (.ci/llama.cmake).
 *
 * GCC's _tile_loadconfig tells the compiler that it reads one pointer's worth of the 64 bytes of a tile
 * configuration. The stores to the others are then dead and left out, the processor loads garbage, and the
 * first instruction on a tile is an illegal one. The empty statement before it reads all of memory.
 *
 * llama.cpp configures the tiles once in a thread, and remembers that behind _tile_loadconfig, in the same
 * function. Another library that computes on tiles in that thread (ONNX Runtime in 8 bits, oneDNN) configures
 * them otherwise, and from then on every product of llama.cpp is wrong. Returning before it remembers has the
 * tiles configured for each product, in 0.1 microseconds. */
#if defined(__AMX_TILE__) && defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

static inline __attribute__((always_inline)) void surtitle_tile_loadconfig(const void *config) {
    __asm__ volatile("" : : "r"(config) : "memory");
    _tile_loadconfig(config);
}

#define _tile_loadconfig(config)          \
    do {                                  \
        surtitle_tile_loadconfig(config); \
        return;                           \
    } while (0)
#endif
