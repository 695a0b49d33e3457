/* Included before every C and C++ source of llama.cpp (.ci/llama.cmake).
 *
 * GCC's _tile_loadconfig tells the compiler that it reads one pointer's worth of the 64 bytes of a tile
 * configuration. The stores to the others are then dead and left out, the processor loads garbage, and the
 * first instruction on a tile is an illegal one. The empty statement before it reads all of memory. */
#if defined(__AMX_TILE__) && defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

static inline __attribute__((always_inline)) void surtitle_tile_loadconfig(const void *config) {
    __asm__ volatile("" : : "r"(config) : "memory");
    _tile_loadconfig(config);
}

#define _tile_loadconfig(config) surtitle_tile_loadconfig(config)
#endif
