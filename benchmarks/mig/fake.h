// Copyright 2026 the authors of this repository
// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the simulated libnvidia-ml.so.1 share: the state of one machine, the boards, and
// how a call begins and ends. The rules are those of lib/standins/mig.py; the boards come from
// lib/standins/data/mig_geometry.json through the generated header boards.h.
#ifndef FAKE_H
#define FAKE_H
#include <stddef.h>

typedef unsigned int u32;
typedef unsigned long long u64;

enum { // nvmlReturn_t
    OK = 0,
    UNINITIALIZED = 1,
    INVALID = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    SHORT = 7,
    NO_DRIVER = 9,
    NO_LIBRARY = 12,
    LOST = 15,
    RESET_REQUIRED = 16,
    MISMATCH = 18,
    IN_USE = 19,
    NO_ROOM = 23,
    BAD_VERSION = 25
};

enum { GPUS = 8, INSTANCES = 8, PARTS = 8, PROCESSES = 16, SESSIONS = 16, FAULTS = 8, UUID = 48 };

struct place {
    u32 start, size;
};

// How a profile uses the media engines: `+me` exists once, `+me.all` takes all, `-me` none.
enum media { MEDIA_SHARE, MEDIA_ONE, MEDIA_ALL, MEDIA_NONE };

struct profile {
    u32 query, id, slices, most, mib, processors, copy, decoder, encoder, jpeg, ofa, size, places;
    u32 start[8], preferred[8];
    enum media media;
    const char *name;
};

struct board {
    const char *key, *product;
    u32 device, units, architecture, major, minor, resetless, profiles;
    u64 mib;
    const struct profile *profile;
};

struct part { // a compute instance, which makes a MIG device
    u32 used, id, query, slices, start, slot;
    char uuid[UUID];
};

struct instance {
    u32 used, id, profile, start, size;
    struct part part[PARTS];
};

struct process {
    u32 pid;
    char device[UUID];
};

struct gpu {
    u32 board, current, pending, lost, held, created, resets;
    char uuid[UUID], serial[16];
    struct instance instance[INSTANCES];
    struct process process[PROCESSES];
};

struct session {
    u32 pid, starts;
};

struct fault { // the nth call from now on; 0 means always
    char call[64];
    u32 code, nth, seen;
    int gpu;
};

struct state { // one machine, shared by all processes through a mapped file
    u32 magic, gpus, cuda, hidden, virtual_machine;
    char loaded[32], library[32];
    struct gpu gpu[GPUS];
    struct session session[SESSIONS];
    struct fault fault[FAULTS];
};

enum kind { GPU = 1, INSTANCE = 2, PART = 4, DEVICE = 8 };

struct target { // what a handle stands for; a handle is the address of one
    enum kind kind;
    u32 gpu, instance, part;
    char uuid[UUID];
};

extern struct state *machine;
extern const struct board boards[];
extern const u32 board_count;

int enter(const char *call, const void *handle);
int leave(const char *call, const void *handle, int code);
int clients(const struct gpu *gpu);
void *handle_of(enum kind kind, u32 gpu, u32 instance, u32 part, const char *uuid);
const struct target *target_of(const void *handle, int kinds);
const struct board *board_of(const struct gpu *gpu);

// One exported function: begin, answer an injected fault or run, end, log.
#define CALL(handle, expression)                                                                   \
    do {                                                                                           \
        int code_ = enter(__func__, handle);                                                       \
        if (code_ == OK)                                                                           \
            code_ = (expression);                                                                  \
        return leave(__func__, handle, code_);                                                     \
    } while (0)

#endif
