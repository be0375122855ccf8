// Copyright 2026 the authors of this repository
// SPDX-License-Identifier: Apache-2.0
//
// The machine's state in the file $FAKE_NVML_STATE, mapped by every process and guarded by flock; sessions,
// handles, injected faults, and the log of calls in $FAKE_NVML_LOG: process, function, GPU, answer.
#define _GNU_SOURCE
#include "fake.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x4d494731, TARGETS = 8192 };

struct state *machine;
static int file = -1;
static char opened[4096];
static struct target targets[TARGETS];
static u32 known;

static int open_state(void) {
    const char *path = getenv("FAKE_NVML_STATE");
    if (!path)
        return NO_LIBRARY;
    if (machine && strcmp(path, opened) == 0)
        return OK;
    if (machine) {
        munmap(machine, sizeof *machine);
        close(file);
        machine = NULL;
    }
    known = 0;
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    struct stat found;
    if (file < 0 || fstat(file, &found) ||
        (found.st_size < (off_t)sizeof *machine && ftruncate(file, sizeof *machine)))
        return NO_LIBRARY;
    void *at = mmap(NULL, sizeof *machine, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        return NO_LIBRARY;
    machine = at;
    snprintf(opened, sizeof opened, "%s", path);
    return OK;
}

static struct session *session_of(u32 pid) {
    for (int i = 0; i < SESSIONS; i++)
        if (machine->session[i].starts && machine->session[i].pid == pid)
            return &machine->session[i];
    return NULL;
}

// Other NVML sessions, services that hold the GPU, and processes that compute on it.
int clients(const struct gpu *gpu) {
    int count = (int)gpu->held;
    for (int i = 0; i < SESSIONS; i++) {
        struct session *each = &machine->session[i];
        if (each->starts && kill((pid_t)each->pid, 0) && errno == ESRCH)
            each->starts = 0;
        count += each->starts && each->pid != (u32)getpid();
    }
    for (int i = 0; i < PROCESSES; i++)
        count += gpu->process[i].pid != 0;
    return count;
}

const struct board *board_of(const struct gpu *gpu) { return &boards[gpu->board]; }

void *handle_of(enum kind kind, u32 gpu, u32 instance, u32 part, const char *uuid) {
    for (u32 i = 0; i < known; i++)
        if (targets[i].kind == kind && targets[i].gpu == gpu && targets[i].instance == instance &&
            targets[i].part == part && strcmp(targets[i].uuid, uuid) == 0)
            return &targets[i];
    if (known == TARGETS)
        return NULL;
    struct target *made = &targets[known++];
    *made = (struct target){.kind = kind, .gpu = gpu, .instance = instance, .part = part};
    snprintf(made->uuid, UUID, "%s", uuid);
    return made;
}

const struct target *target_of(const void *handle, int kinds) {
    const struct target *found = handle;
    if (found < targets || found >= targets + known || !(found->kind & kinds))
        return NULL;
    return found;
}

static int due(const char *call, int gpu) {
    int code = OK;
    for (int i = 0; i < FAULTS; i++) {
        struct fault *fault = &machine->fault[i];
        if (strcmp(fault->call, call) || (fault->gpu >= 0 && fault->gpu != gpu))
            continue;
        fault->seen++;
        if (!code && (!fault->nth || fault->nth == fault->seen))
            code = (int)fault->code;
    }
    return code;
}

static void write_line(const char *call, int gpu, int code) {
    const char *path = getenv("FAKE_NVML_LOG");
    int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (log < 0)
        return;
    char line[160];
    int length = snprintf(line, sizeof line, "%d %s %d %d\n", (int)getpid(), call, gpu, code);
    if (write(log, line, (size_t)length) != length)
        perror("FAKE_NVML_LOG");
    close(log);
}

static int gpu_index(const void *handle) {
    const struct target *found = target_of(handle, GPU | INSTANCE | PART | DEVICE);
    return found ? (int)found->gpu : -1;
}

// Take the lock, then say why the call cannot run: no session, an injected fault.
int enter(const char *call, const void *handle) {
    if (!machine)
        return UNINITIALIZED;
    flock(file, LOCK_EX);
    return session_of((u32)getpid()) ? due(call, gpu_index(handle)) : UNINITIALIZED;
}

int leave(const char *call, const void *handle, int code) {
    write_line(call, gpu_index(handle), code);
    if (machine)
        flock(file, LOCK_UN);
    return code;
}

static int start(void) {
    if (!machine->library[0])
        return NO_LIBRARY;
    if (!machine->loaded[0])
        return NO_DRIVER;
    if (strcmp(machine->loaded, machine->library))
        return MISMATCH;
    struct session *mine = session_of((u32)getpid());
    for (int i = 0; !mine && i < SESSIONS; i++)
        if (!machine->session[i].starts) {
            mine = &machine->session[i];
            mine->pid = (u32)getpid();
        }
    if (!mine)
        return NO_ROOM;
    mine->starts++;
    return OK;
}

int nvmlInitWithFlags(u32 flags) {
    (void)flags;
    int code = open_state();
    if (code)
        return code;
    flock(file, LOCK_EX);
    return leave(__func__, NULL, machine->magic == MAGIC ? start() : NO_LIBRARY);
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

static int stop(void) {
    struct session *mine = session_of((u32)getpid());
    mine->starts--;
    return OK;
}

int nvmlShutdown(void) { CALL(NULL, stop()); }

const char *nvmlErrorString(int code) {
    static char text[32];
    if (code == NO_ROOM)
        return "Insufficient resources";
    snprintf(text, sizeof text, "NVML return code %d", code);
    return text;
}

static int text(char *buffer, u32 size, const char *value) {
    return snprintf(buffer, size, "%s", value) < (int)size ? OK : SHORT;
}

int nvmlSystemGetDriverVersion(char *buffer, u32 size) {
    CALL(NULL, text(buffer, size, machine->loaded));
}

int nvmlSystemGetNVMLVersion(char *buffer, u32 size) {
    char value[48];
    int code = enter(__func__, NULL);
    if (!code) {
        snprintf(value, sizeof value, "%u.%s", machine->cuda / 1000, machine->library);
        code = text(buffer, size, value);
    }
    return leave(__func__, NULL, code);
}

static int cuda(int *version) {
    *version = (int)machine->cuda;
    return OK;
}

int nvmlSystemGetCudaDriverVersion(int *version) { CALL(NULL, cuda(version)); }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { CALL(NULL, cuda(version)); }

// What the world does to the machine; not part of NVML.

static u32 find_board(const char *key) {
    u32 found = 0;
    while (found < board_count && strcmp(boards[found].key, key))
        found++;
    return found;
}

// Make a new machine in $FAKE_NVML_STATE: so many GPUs of one board, MIG off.
int fakeCreate(const char *board, u32 gpus) {
    u32 which = find_board(board);
    if (which == board_count || gpus > GPUS || open_state())
        return INVALID;
    flock(file, LOCK_EX);
    memset(machine, 0, sizeof *machine);
    machine->magic = MAGIC;
    machine->gpus = gpus;
    machine->cuda = 13000;
    snprintf(machine->loaded, sizeof machine->loaded, "580.173.02");
    snprintf(machine->library, sizeof machine->library, "580.173.02");
    for (u32 i = 0; i < gpus; i++) {
        machine->gpu[i].board = which;
        snprintf(machine->gpu[i].uuid, UUID, "GPU-%08x-0000-4000-8000-%012x", 0xfa4e0000 + i, i);
        snprintf(machine->gpu[i].serial, sizeof machine->gpu[i].serial, "16000000%02u", i);
    }
    flock(file, LOCK_UN);
    return OK;
}

// The mapped machine, for what a test changes from outside.
struct state *fakeMachine(void) { return open_state() ? NULL : machine; }
