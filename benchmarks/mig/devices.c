// Copyright 2026 the authors of this repository
// SPDX-License-Identifier: Apache-2.0
//
// NVML functions about whole GPUs: what they are and what computes on them.
#include "fake.h"
#include <stdio.h>
#include <string.h>

enum { NVIDIA = 0x10DE, RESETLESS_FIELD = 184, VISIBLE_FIELD = 199 };
enum { WHOLE = 0xFFFFFFFF }; // instance id of a process that computes on the whole GPU

// nvml.h; only what the functions below fill in.
struct pci {
    char legacy[16];
    u32 domain, bus, device, id, subsystem;
    char address[32];
};

struct memory {
    u64 total, free, used;
};

struct field {
    u32 id, scope;
    long long timestamp, latency;
    u32 type;
    int code;
    union {
        u32 number;
        u64 wide;
    } value;
};

struct running {
    u32 pid;
    u64 memory;
    u32 instance, part;
};

// Where the GPUs of a DGX A100 are, as in lib/standins/gpus.py.
static const u32 buses[GPUS] = {0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90, 0xb7, 0xbd};

static struct gpu *gpu_of(const void *handle, int kinds, int *code) {
    const struct target *found = target_of(handle, kinds);
    *code = found ? OK : INVALID;
    if (!found)
        return NULL;
    struct gpu *gpu = &machine->gpu[found->gpu];
    if (gpu->lost)
        *code = LOST;
    return *code ? NULL : gpu;
}

static struct instance *instance_of(struct gpu *gpu, const struct target *device) {
    for (int i = 0; i < INSTANCES; i++) {
        struct instance *each = &gpu->instance[i];
        if (!each->used || each->id != device->instance)
            continue;
        for (int k = 0; k < PARTS; k++)
            if (each->part[k].used && strcmp(each->part[k].uuid, device->uuid) == 0)
                return each;
    }
    return NULL;
}

static const struct profile *profile_of(const struct gpu *gpu, u32 id) {
    const struct board *board = board_of(gpu);
    for (u32 i = 0; i < board->profiles; i++)
        if (board->profile[i].id == id)
            return &board->profile[i];
    return NULL;
}

static int put_gpu(u32 index, void **handle) {
    if (machine->gpu[index].lost)
        return LOST;
    *handle = handle_of(GPU, index, 0, 0, "");
    return *handle ? OK : NO_ROOM;
}

static int number(const void *handle, u32 value, u32 *result) {
    int code;
    if (gpu_of(handle, GPU, &code))
        *result = value;
    return code;
}

static int text(char *buffer, u32 size, const char *value) {
    return snprintf(buffer, size, "%s", value) < (int)size ? OK : SHORT;
}

static int count(u32 *result) {
    *result = machine->gpus;
    return OK;
}

int nvmlDeviceGetCount_v2(u32 *result) { CALL(NULL, count(result)); }

int nvmlDeviceGetHandleByIndex_v2(u32 index, void **handle) {
    CALL(NULL, index < machine->gpus ? put_gpu(index, handle) : INVALID);
}

static int by_uuid(const char *uuid, void **handle) {
    for (u32 i = 0; i < machine->gpus; i++) {
        struct gpu *gpu = &machine->gpu[i];
        if (strcmp(gpu->uuid, uuid) == 0)
            return put_gpu(i, handle);
        for (int k = 0; k < INSTANCES; k++)
            for (int p = 0; gpu->instance[k].used && p < PARTS; p++) {
                struct part *part = &gpu->instance[k].part[p];
                if (part->used && strcmp(part->uuid, uuid) == 0) {
                    *handle = handle_of(DEVICE, i, gpu->instance[k].id, part->id, uuid);
                    return *handle ? OK : NO_ROOM;
                }
            }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    CALL(NULL, by_uuid(uuid, handle));
}

static int by_address(const char *address, void **handle) {
    u32 domain, bus, device;
    if (sscanf(address, "%x:%x:%x", &domain, &bus, &device) != 3)
        return INVALID;
    for (u32 i = 0; i < machine->gpus; i++)
        if (buses[i] == bus)
            return put_gpu(i, handle);
    return NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **handle) {
    CALL(NULL, by_address(address, handle));
}

static int name(const void *handle, char *buffer, u32 size) {
    int code;
    struct gpu *gpu = gpu_of(handle, GPU | DEVICE, &code);
    const struct target *target = handle;
    if (!gpu)
        return code;
    if (target->kind == GPU)
        return text(buffer, size, board_of(gpu)->product);
    struct instance *instance = instance_of(gpu, target);
    if (!instance)
        return NOT_FOUND;
    char full[128];
    const struct profile *profile = profile_of(gpu, instance->profile);
    snprintf(full, sizeof full, "%s MIG %s", board_of(gpu)->product, profile->name);
    return text(buffer, size, full);
}

int nvmlDeviceGetName(void *handle, char *buffer, u32 size) {
    CALL(handle, name(handle, buffer, size));
}

static int uuid(const void *handle, char *buffer, u32 size) {
    int code;
    struct gpu *gpu = gpu_of(handle, GPU | DEVICE, &code);
    const struct target *target = handle;
    if (!gpu)
        return code;
    if (target->kind == GPU)
        return text(buffer, size, gpu->uuid);
    return instance_of(gpu, target) ? text(buffer, size, target->uuid) : NOT_FOUND;
}

int nvmlDeviceGetUUID(void *handle, char *buffer, u32 size) {
    CALL(handle, uuid(handle, buffer, size));
}

static int serial(const void *handle, char *buffer, u32 size) {
    int code;
    struct gpu *gpu = gpu_of(handle, GPU, &code);
    return gpu ? text(buffer, size, gpu->serial) : code;
}

int nvmlDeviceGetSerial(void *handle, char *buffer, u32 size) {
    CALL(handle, serial(handle, buffer, size));
}

static u32 index_of(const void *handle) {
    const struct target *target = target_of(handle, GPU | DEVICE);
    return target ? target->gpu : 0;
}

int nvmlDeviceGetIndex(void *handle, u32 *result) {
    CALL(handle, number(handle, index_of(handle), result));
}

int nvmlDeviceGetMinorNumber(void *handle, u32 *result) {
    CALL(handle, number(handle, index_of(handle), result));
}

static int pci(const void *handle, struct pci *result) {
    int code;
    struct gpu *gpu = gpu_of(handle, GPU, &code);
    if (!gpu)
        return code;
    memset(result, 0, sizeof *result);
    result->bus = buses[index_of(handle)];
    result->id = board_of(gpu)->device << 16 | NVIDIA;
    result->subsystem = 0x134F << 16 | NVIDIA;
    snprintf(result->legacy, sizeof result->legacy, "0000:%02X:00.0", result->bus);
    snprintf(result->address, sizeof result->address, "00000000:%02X:00.0", result->bus);
    return OK;
}

int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *result) { CALL(handle, pci(handle, result)); }

static int memory(const void *handle, struct memory *result) {
    int code;
    struct gpu *gpu = gpu_of(handle, GPU | DEVICE, &code);
    const struct target *target = handle;
    if (!gpu)
        return code;
    u64 mib = board_of(gpu)->mib;
    if (target->kind == DEVICE) {
        struct instance *instance = instance_of(gpu, target);
        if (!instance)
            return NOT_FOUND;
        mib = profile_of(gpu, instance->profile)->mib;
    }
    *result = (struct memory){.total = mib << 20, .free = mib << 20};
    return OK;
}

int nvmlDeviceGetMemoryInfo(void *handle, struct memory *result) {
    CALL(handle, memory(handle, result));
}

static u32 architecture(const void *handle) {
    return board_of(&machine->gpu[index_of(handle)])->architecture;
}

int nvmlDeviceGetArchitecture(void *handle, u32 *result) {
    CALL(handle, number(handle, architecture(handle), result));
}

int nvmlDeviceGetBrand(void *handle, u32 *result) {
    CALL(handle, number(handle, 14, result)); // NVML_BRAND_NVIDIA
}

static int capability(const void *handle, int *major, int *minor) {
    int code;
    struct gpu *gpu = gpu_of(handle, GPU, &code);
    if (!gpu)
        return code;
    *major = (int)board_of(gpu)->major;
    *minor = (int)board_of(gpu)->minor;
    return OK;
}

int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    CALL(handle, capability(handle, major, minor));
}

static int fields(const void *handle, int length, struct field *values) {
    int code;
    struct gpu *gpu = gpu_of(handle, GPU, &code);
    if (!gpu)
        return code;
    for (int i = 0; i < length; i++) {
        int asked = values[i].id == RESETLESS_FIELD || values[i].id == VISIBLE_FIELD;
        values[i].code = asked && board_of(gpu)->profiles ? OK : NOT_SUPPORTED;
        values[i].type = 1; // unsigned int
        values[i].value.wide = 0;
        values[i].value.number =
            values[i].id == RESETLESS_FIELD ? board_of(gpu)->resetless : !machine->hidden;
    }
    return OK;
}

int nvmlDeviceGetFieldValues(void *handle, int length, struct field *values) {
    CALL(handle, fields(handle, length, values));
}

static void locate(struct gpu *gpu, const char *device, struct running *result) {
    result->instance = result->part = WHOLE;
    for (int i = 0; i < INSTANCES; i++)
        for (int k = 0; gpu->instance[i].used && k < PARTS; k++)
            if (gpu->instance[i].part[k].used &&
                strcmp(gpu->instance[i].part[k].uuid, device) == 0) {
                result->instance = gpu->instance[i].id;
                result->part = gpu->instance[i].part[k].id;
            }
}

static int processes(const void *handle, u32 *length, struct running *result) {
    int code;
    struct gpu *gpu = gpu_of(handle, GPU | DEVICE, &code);
    const struct target *target = handle;
    if (!gpu)
        return code;
    u32 room = *length, found = 0;
    for (int i = 0; i < PROCESSES; i++) {
        struct process *each = &gpu->process[i];
        if (!each->pid || (target->kind == DEVICE && strcmp(each->device, target->uuid)))
            continue;
        if (found < room) {
            result[found] = (struct running){.pid = each->pid, .memory = 512ull << 20};
            locate(gpu, each->device, &result[found]);
        }
        found++;
    }
    *length = found;
    return found > room ? SHORT : OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, u32 *length, struct running *result) {
    CALL(handle, processes(handle, length, result));
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, u32 *length, struct running *result) {
    (void)result;
    CALL(handle, (*length = 0, target_of(handle, GPU | DEVICE) ? OK : INVALID));
}

int nvmlDeviceGetPersistenceMode(void *handle, u32 *result) {
    CALL(handle, number(handle, machine->gpu[index_of(handle)].held > 0, result));
}
