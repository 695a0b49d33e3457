/* The part of AMX that llama.cpp uses, for a processor without it: cc -O2 -shared -fPIC, then LD_PRELOAD.
 *
 * An instruction that the processor does not know raises SIGILL; the handler does what AMX would have done, and
 * goes on after it. As on the real thing, an instruction on a tile that no configuration has set up is an
 * illegal one and ends the process. Encodings and behaviour: Intel's Software Developer's Manual, volume 1,
 * chapter 18, and volume 2. With EMULATED_AMX=count in the environment each process says at its end how many
 * instructions it was asked for. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64, REQUEST_PERMISSION = 0x1023 };
enum prefix { NONE = 0, P66 = 1, PF3 = 2, PF2 = 3 };

struct config {
    uint8_t palette, start_row, reserved[14];
    uint16_t colsb[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct config) == 64, "as ldtilecfg reads it");

/* Each thread has tiles of its own. The handler may not allocate, so the linker reserves their place. */
static __thread struct {
    struct config config;
    int8_t data[TILES][ROWS][ROW_BYTES];
} own __attribute__((tls_model("initial-exec")));

static atomic_long configured, multiplied;

/* The kernel's consent, which llama.cpp asks for through this function of the C library. */
long syscall(long number, ...) {
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_arch_prctl && a[0] == REQUEST_PERMISSION) return 0;

    long result;
    register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

/* An instruction: VEX prefix of three bytes, opcode, ModRM, and what these address in memory. */
struct instruction {
    enum prefix prefix;
    uint8_t opcode;
    int is_register, reg, rm, vvvv;
    uintptr_t address, stride;
    int length;
};

static uintptr_t general(const ucontext_t *context, int number) {
    static const int place[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return (uintptr_t)context->uc_mcontext.gregs[place[number]];
}

static int decode(const uint8_t *at, const ucontext_t *context, struct instruction *out) {
    /* C4, map 0F38, W0, 128 bits, and R not set: there are eight tiles. */
    if (at[0] != 0xC4 || (at[1] & 0x9F) != 0x82 || (at[2] & 0x84) != 0) return 0;
    int x = !(at[1] & 0x40), b = !(at[1] & 0x20), modrm = at[4], mod = modrm >> 6;
    out->prefix = at[2] & 3;
    out->vvvv = ~(at[2] >> 3) & 15;
    out->opcode = at[3];
    out->reg = modrm >> 3 & 7;
    out->rm = modrm & 7;
    out->is_register = mod == 3;
    out->length = 5;
    if (out->is_register) return 1;

    int base = out->rm;
    out->address = out->stride = 0;
    if (base == 4) {
        int sib = at[out->length++], index = (sib >> 3 & 7) | x << 3;
        base = sib & 7;
        if (index != 4) out->stride = general(context, index) << (sib >> 6);
    }
    int32_t offset = 0;
    if (mod == 1) {
        offset = (int8_t)at[out->length++];
    } else if (mod == 2 || base == 5) {
        memcpy(&offset, at + out->length, 4);
        out->length += 4;
    }
    if (base == 5 && mod == 0) {
        if (out->rm == 5) out->address = (uintptr_t)at + (uintptr_t)out->length; /* relative to the next one */
    } else {
        out->address = general(context, base | b << 3);
    }
    out->address += (uintptr_t)(intptr_t)offset;
    return 1;
}

static int rows(int tile) { return own.config.rows[tile]; }
static int bytes(int tile) { return own.config.colsb[tile]; }

/* Palette 1 has eight tiles of 16 rows of 64 bytes; 0 releases them; all else is a fault. */
static int load_config(const struct config *config) {
    atomic_fetch_add(&configured, 1);
    memset(&own, 0, sizeof own);
    if (config->palette == 0) return 1;
    if (config->palette != 1) return 0;
    for (int tile = 0; tile < 16; tile++) {
        int is_there = tile < TILES && config->rows[tile] <= ROWS && config->colsb[tile] <= ROW_BYTES;
        if (!is_there && (config->rows[tile] || config->colsb[tile])) return 0;
    }
    own.config = *config;
    return 1;
}

static int is_usable(int tile) { return own.config.palette == 1 && rows(tile) > 0 && bytes(tile) > 0; }

static int move_tile(const struct instruction *in) {
    if (!is_usable(in->reg)) return 0;
    for (int row = 0; row < rows(in->reg); row++) {
        void *memory = (void *)(in->address + (uintptr_t)row * in->stride);
        int8_t *tile = own.data[in->reg][row];
        if (in->prefix == PF3) {
            memcpy(memory, tile, (size_t)bytes(in->reg));
        } else {
            memset(tile, 0, ROW_BYTES);
            memcpy(tile, memory, (size_t)bytes(in->reg));
        }
    }
    return 1;
}

/* tdpb{ss,su,us,uu}d: sums of four products of bytes are added to 32-bit integers. */
static int multiply(const struct instruction *in) {
    int c = in->reg, a = in->rm, b = in->vvvv;
    if (b >= TILES || !is_usable(a) || !is_usable(b) || !is_usable(c)) return 0;
    if (rows(a) != rows(c) || bytes(b) != bytes(c) || bytes(a) != 4 * rows(b)) return 0;
    int a_signed = in->prefix == PF2 || in->prefix == PF3, b_signed = in->prefix == PF2 || in->prefix == P66;
    atomic_fetch_add(&multiplied, 1);
    for (int row = 0; row < rows(c); row++) {
        int32_t sums[ROW_BYTES / 4];
        memcpy(sums, own.data[c][row], ROW_BYTES);
        for (int k = 0; k < bytes(a); k++) {
            int left = a_signed ? own.data[a][row][k] : (uint8_t)own.data[a][row][k];
            const int8_t *right = own.data[b][k / 4];
            for (int column = 0; column < bytes(c) / 4; column++) {
                int8_t byte = right[4 * column + k % 4];
                sums[column] += left * (b_signed ? byte : (uint8_t)byte);
            }
        }
        memcpy(own.data[c][row], sums, ROW_BYTES);
    }
    return 1;
}

static int execute(const struct instruction *in) {
    switch (in->opcode) {
    case 0x49:
        if (!in->is_register && in->prefix == NONE) return load_config((const struct config *)in->address);
        if (in->is_register && in->prefix == NONE && in->reg == 0 && in->rm == 0) {
            memset(&own, 0, sizeof own); /* tilerelease */
            return 1;
        }
        if (!in->is_register || in->prefix != PF2 || !is_usable(in->reg)) return 0;
        memset(own.data[in->reg], 0, sizeof own.data[0]); /* tilezero */
        return 1;
    case 0x4B: /* tileloadd, tileloaddt1, tilestored */
        return !in->is_register && in->prefix != NONE && move_tile(in);
    case 0x5E:
        return in->is_register && multiply(in);
    default:
        return 0;
    }
}

static void on_illegal(int signal_number, siginfo_t *info, void *raw) {
    ucontext_t *context = raw;
    struct instruction instruction;
    (void)info;
    const uint8_t *at = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
    if (decode(at, context, &instruction) && execute(&instruction)) {
        context->uc_mcontext.gregs[REG_RIP] += instruction.length;
        return;
    }
    signal(signal_number, SIG_DFL); /* and the same instruction again */
}

__attribute__((constructor)) static void begin(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_illegal;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, NULL);
}

__attribute__((destructor)) static void end(void) {
    if (getenv("EMULATED_AMX") && configured)
        fprintf(stderr, "AMX: %ld configurations, %ld multiplications\n", configured, multiplied);
}
