// A product of two matrices of bytes on AMX tiles, set up as llama.cpp sets them up; exits with 0 if it is right, also
// after another library has set the tiles up otherwise.
// With -DNO_CONFIGURATION the tiles are never set up.
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

struct Configuration {
    uint8_t palette = 0, start_row = 0, reserved[14] = {};
    uint16_t colsb[16] = {};
    uint8_t rows[16] = {};
};

inline void set_up() {
    static thread_local bool is_done = false;
    if (is_done) return;
    alignas(64) Configuration configuration = {};
    configuration.palette = 1;
    configuration.rows[0] = 16, configuration.colsb[0] = 64;
    configuration.rows[1] = 16, configuration.colsb[1] = 64;
    configuration.rows[2] = 16, configuration.colsb[2] = 64;
    configuration.rows[3] = 16, configuration.colsb[3] = 64;
    configuration.rows[4] = 16, configuration.colsb[4] = 64;
    configuration.rows[5] = 16, configuration.colsb[5] = 64;
    configuration.rows[6] = 16, configuration.colsb[6] = 64;
    configuration.rows[7] = 16, configuration.colsb[7] = 64;
#ifndef NO_CONFIGURATION
    _tile_loadconfig(&configuration);
#endif
    is_done = true;
}

__attribute__((noinline)) void set_up_otherwise() {
    alignas(64) Configuration configuration = {};
    configuration.palette = 1;
    for (int tile = 0; tile < 8; tile++) configuration.rows[tile] = 8, configuration.colsb[tile] = 32;
    _tile_loadconfig(&configuration);
}

__attribute__((noinline)) void multiply(const void *left, const void *right, void *sums) {
    set_up();
    _tile_zero(4);
    _tile_loadd(2, left, 64);
    _tile_loadd(0, right, 64);
    _tile_dpbssd(4, 2, 0);
    _tile_stored(4, sums, 64);
}

int main() {
    if (syscall(SYS_arch_prctl, 0x1023, 18) != 0) return 2;
    static int8_t left[16][64], right[16][64];
    static int32_t sums[16][16];
    for (int n = 0; n < 16 * 64; n++) {
        left[n / 64][n % 64] = (int8_t)(n * 37 % 251 - 125);
        right[n / 64][n % 64] = (int8_t)(n * 91 % 241 - 120);
    }
    for (int time = 0; time < 2; time++) {
        multiply(left, right, sums);
        for (int row = 0; row < 16; row++) {
            for (int column = 0; column < 16; column++) {
                int32_t sum = 0;
                for (int k = 0; k < 64; k++) sum += left[row][k] * right[k / 4][4 * column + k % 4];
                if (sum != sums[row][column]) {
                    std::printf("%d instead of %d, time %d\n", sums[row][column], sum, time);
                    return 1;
                }
            }
        }
        set_up_otherwise();
    }
    return 0;
}
