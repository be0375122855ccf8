// Copyright 2026 the authors of this repository
// SPDX-License-Identifier: Apache-2.0
//
// NVML functions about MIG: the mode, profiles, GPU instances, compute instances and MIG devices.
#include "fake.h"
#include <stdio.h>
#include <string.h>

enum { INFO_V2 = 0x02000098, PART_INFO_V2 = 0x02000088 }; // size and version, as nvml.h packs them
enum { MEDIA_KINDS = 4, MOST_QUERIES = 7 };

static const u32 part_slices[MOST_QUERIES] = {1, 2, 3, 4, 7, 8, 6};

// nvml.h; only what the functions below fill in.
struct profile_info {
    u32 id, p2p, slices, most, processors, copy, decoder, encoder, jpeg, ofa;
    u64 mib;
};

struct profile_info_v2 {
    u32 version, id, p2p, slices, most, processors, copy, decoder, encoder, jpeg, ofa;
    u64 mib;
    char name[96];
};

struct part_profile {
    u32 id, slices, most, processors, copy, decoder, encoder, jpeg, ofa;
};

struct part_profile_v2 {
    u32 version;
    struct part_profile profile;
    char name[96];
};

struct instance_info {
    void *gpu;
    u32 id, profile;
    struct place place;
};

struct part_info {
    void *gpu, *instance;
    u32 id, profile;
    struct place place;
};

struct attributes {
    u32 processors, copy, decoder, encoder, jpeg, ofa, instance_slices, part_slices;
    u64 mib;
};

// Finding what a call is about.

static struct gpu *any_gpu(const void *handle, int kinds, int *code) {
    const struct target *target = target_of(handle, kinds);
    struct gpu *gpu = target ? &machine->gpu[target->gpu] : NULL;
    *code = !gpu ? INVALID : gpu->lost ? LOST : OK;
    return *code ? NULL : gpu;
}

static struct gpu *capable(const void *handle, int *code) {
    struct gpu *gpu = any_gpu(handle, GPU, code);
    if (gpu && !board_of(gpu)->profiles)
        *code = NOT_SUPPORTED;
    return *code ? NULL : gpu;
}

static struct gpu *listable(const void *handle, int *code) {
    struct gpu *gpu = capable(handle, code);
    if (gpu && !gpu->current && machine->hidden)
        *code = NOT_SUPPORTED;
    return *code ? NULL : gpu;
}

static struct gpu *cut(const void *handle, int *code) {
    struct gpu *gpu = capable(handle, code);
    if (gpu && !gpu->current)
        *code = NOT_SUPPORTED;
    return *code ? NULL : gpu;
}

static const struct profile *by_id(const struct gpu *gpu, u32 id) {
    const struct board *board = board_of(gpu);
    for (u32 i = 0; i < board->profiles; i++)
        if (board->profile[i].id == id)
            return &board->profile[i];
    return NULL;
}

static const struct profile *by_query(const struct gpu *gpu, u32 query) {
    const struct board *board = board_of(gpu);
    for (u32 i = 0; i < board->profiles; i++)
        if (board->profile[i].query == query)
            return &board->profile[i];
    return NULL;
}

static struct instance *find_instance(struct gpu *gpu, u32 id) {
    for (int i = 0; i < INSTANCES; i++)
        if (gpu->instance[i].used && gpu->instance[i].id == id)
            return &gpu->instance[i];
    return NULL;
}

static struct part *find_part(struct instance *instance, u32 id, const char *uuid) {
    for (int i = 0; i < PARTS; i++) {
        struct part *each = &instance->part[i];
        if (each->used && each->id == id && (!uuid[0] || strcmp(uuid, each->uuid) == 0))
            return each;
    }
    return NULL;
}

static struct instance *behind(const void *handle, int kinds, struct gpu **gpu, int *code) {
    *gpu = any_gpu(handle, kinds, code);
    struct instance *found =
        *gpu ? find_instance(*gpu, ((const struct target *)handle)->instance) : NULL;
    if (*gpu && !found)
        *code = NOT_FOUND;
    return found;
}

static struct part *part_behind(
    const void *handle, struct gpu **gpu, struct instance **instance, int *code) {
    const struct target *target = handle;
    *instance = behind(handle, PART | DEVICE, gpu, code);
    struct part *found = *instance ? find_part(*instance, target->part, target->uuid) : NULL;
    if (*instance && !found)
        *code = NOT_FOUND;
    return found;
}

static int put(void **result, void *handle) {
    *result = handle;
    return handle ? OK : NO_ROOM;
}

static u32 number_of(const struct gpu *gpu) { return (u32)(gpu - machine->gpu); }

// The mode.

static int get_mode(const void *handle, u32 *current, u32 *pending) {
    int code;
    struct gpu *gpu = capable(handle, &code);
    if (gpu) {
        *current = gpu->current;
        *pending = gpu->pending;
    }
    return code;
}

int nvmlDeviceGetMigMode(void *handle, u32 *current, u32 *pending) {
    CALL(handle, get_mode(handle, current, pending));
}

static int is_computing(const struct gpu *gpu) {
    for (int i = 0; i < PROCESSES; i++)
        if (gpu->process[i].pid)
            return 1;
    return 0;
}

static int activate(struct gpu *gpu) {
    if (gpu->pending == gpu->current)
        return OK;
    if (board_of(gpu)->resetless && is_computing(gpu))
        return IN_USE;
    if (!board_of(gpu)->resetless && machine->virtual_machine)
        return RESET_REQUIRED;
    if (!board_of(gpu)->resetless && clients(gpu))
        return IN_USE;
    gpu->resets += !board_of(gpu)->resetless; // the driver resets the GPU within the call
    gpu->current = gpu->pending;
    memset(gpu->instance, 0, sizeof gpu->instance);
    return OK;
}

static int set_mode(const void *handle, u32 on, u32 *activation) {
    int code;
    struct gpu *gpu = capable(handle, &code);
    if (!gpu)
        return code;
    for (int i = 0; !on && i < INSTANCES; i++)
        if (gpu->instance[i].used)
            return IN_USE;
    gpu->pending = on != 0;
    *activation = (u32)activate(gpu);
    return OK;
}

int nvmlDeviceSetMigMode(void *handle, u32 on, u32 *activation) {
    CALL(handle, set_mode(handle, on, activation));
}

// Profiles.

static int profile_info(const void *handle, u32 query, struct profile_info *result) {
    int code;
    struct gpu *gpu = listable(handle, &code);
    const struct profile *each = gpu ? by_query(gpu, query) : NULL;
    if (!each)
        return gpu ? NOT_SUPPORTED : code;
    *result = (struct profile_info){.id = each->id,
                                    .slices = each->slices,
                                    .most = each->most,
                                    .processors = each->processors,
                                    .copy = each->copy,
                                    .decoder = each->decoder,
                                    .encoder = each->encoder,
                                    .jpeg = each->jpeg,
                                    .ofa = each->ofa,
                                    .mib = each->mib};
    return OK;
}

int nvmlDeviceGetGpuInstanceProfileInfo(void *handle, u32 query, struct profile_info *result) {
    CALL(handle, profile_info(handle, query, result));
}

static int profile_info_v2(const void *handle, u32 query, struct profile_info_v2 *result) {
    struct profile_info plain;
    if (result->version != INFO_V2)
        return BAD_VERSION;
    int code = profile_info(handle, query, &plain);
    if (code)
        return code;
    memcpy(&result->id, &plain, offsetof(struct profile_info, mib));
    result->mib = plain.mib;
    const struct gpu *gpu = &machine->gpu[((const struct target *)handle)->gpu];
    snprintf(result->name, sizeof result->name, "%s", by_query(gpu, query)->name);
    return OK;
}

int nvmlDeviceGetGpuInstanceProfileInfoV(void *handle, u32 query, struct profile_info_v2 *result) {
    CALL(handle, profile_info_v2(handle, query, result));
}

static int placements(const void *handle, u32 id, struct place *result, u32 *length) {
    int code;
    struct gpu *gpu = listable(handle, &code);
    const struct profile *profile = gpu ? by_id(gpu, id) : NULL;
    if (!profile)
        return gpu ? NOT_SUPPORTED : code;
    u32 room = *length;
    *length = profile->places;
    for (u32 i = 0; result && i < profile->places && profile->places <= room; i++)
        result[i] = (struct place){profile->start[i], profile->size};
    return result && room < profile->places ? SHORT : OK;
}

int nvmlDeviceGetGpuInstancePossiblePlacements_v2(
    void *handle, u32 id, struct place *result, u32 *length) {
    CALL(handle, placements(handle, id, result, length));
}

// GPU instances.

static int is_free(const struct gpu *gpu, u32 start, u32 size) {
    for (int i = 0; i < INSTANCES; i++) {
        const struct instance *each = &gpu->instance[i];
        if (each->used && each->start < start + size && start < each->start + each->size)
            return 0;
    }
    return 1;
}

static int has_room(const struct gpu *gpu, const struct profile *profile) {
    u32 same = 0, with[MEDIA_KINDS] = {0};
    for (int i = 0; i < INSTANCES; i++)
        if (gpu->instance[i].used) {
            same += gpu->instance[i].profile == profile->id;
            with[by_id(gpu, gpu->instance[i].profile)->media]++;
        }
    if (same >= profile->most)
        return 0;
    switch (profile->media) {
    case MEDIA_ONE:
        return !with[MEDIA_ONE] && !with[MEDIA_ALL];
    case MEDIA_ALL:
        return !with[MEDIA_ONE] && !with[MEDIA_ALL] && !with[MEDIA_SHARE];
    case MEDIA_SHARE:
        return !with[MEDIA_ALL];
    default:
        return 1;
    }
}

static int starts_at(const struct profile *profile, const struct place *place) {
    for (u32 i = 0; i < profile->places; i++)
        if (profile->start[i] == place->start && profile->size == place->size)
            return 1;
    return 0;
}

// Whole 0, halves 1-2, quarters 3-6, eighths 7-14: open-gpu-kernel-modules, kmigmgr_ga100.c.
static u32 instance_id(const struct gpu *gpu, u32 start, u32 size) {
    return board_of(gpu)->units / size - 1 + start / size;
}

static int make(struct gpu *gpu, const struct profile *profile, u32 start, void **result) {
    for (int i = 0; i < INSTANCES; i++) {
        struct instance *each = &gpu->instance[i];
        if (each->used)
            continue;
        u32 id = instance_id(gpu, start, profile->size);
        *each = (struct instance){1, id, profile->id, start, profile->size, {{0}}};
        return put(result, handle_of(INSTANCE, number_of(gpu), id, 0, ""));
    }
    return NO_ROOM;
}

static int create(const void *handle, u32 id, const struct place *place, void **result) {
    int code;
    struct gpu *gpu = cut(handle, &code);
    const struct profile *profile = gpu ? by_id(gpu, id) : NULL;
    if (!profile)
        return gpu ? NOT_SUPPORTED : code;
    for (int i = 0; i < PROCESSES; i++)
        if (gpu->process[i].pid && strcmp(gpu->process[i].device, gpu->uuid) == 0)
            return IN_USE;
    if (place && !starts_at(profile, place))
        return INVALID;
    for (u32 i = 0; has_room(gpu, profile) && i < profile->places; i++) {
        u32 start = place ? place->start : profile->preferred[i];
        if (is_free(gpu, start, profile->size))
            return make(gpu, profile, start, result);
    }
    return NO_ROOM;
}

int nvmlDeviceCreateGpuInstance(void *handle, u32 id, void **result) {
    CALL(handle, create(handle, id, NULL, result));
}

int nvmlDeviceCreateGpuInstanceWithPlacement(
    void *handle, u32 id, const struct place *place, void **result) {
    CALL(handle, create(handle, id, place, result));
}

static int remaining(const void *handle, u32 id, u32 *result) {
    int code;
    struct gpu *gpu = cut(handle, &code);
    const struct profile *profile = gpu ? by_id(gpu, id) : NULL;
    if (!profile)
        return gpu ? NOT_SUPPORTED : code;
    struct gpu before = *gpu;
    void *unused;
    for (*result = 0; create(handle, id, NULL, &unused) == OK;)
        ++*result;
    *gpu = before;
    return OK;
}

int nvmlDeviceGetGpuInstanceRemainingCapacity(void *handle, u32 id, u32 *result) {
    CALL(handle, remaining(handle, id, result));
}

static int list(const void *handle, u32 id, void **result, u32 *length) {
    int code;
    struct gpu *gpu = cut(handle, &code);
    if (!gpu || !by_id(gpu, id))
        return gpu ? NOT_SUPPORTED : code;
    *length = 0;
    for (u32 start = 0; start < board_of(gpu)->units; start++) // by place
        for (int i = 0; i < INSTANCES; i++) {
            struct instance *each = &gpu->instance[i];
            if (each->used && each->start == start && each->profile == id)
                result[(*length)++] = handle_of(INSTANCE, number_of(gpu), each->id, 0, "");
        }
    return OK;
}

int nvmlDeviceGetGpuInstances(void *handle, u32 id, void **result, u32 *length) {
    CALL(handle, list(handle, id, result, length));
}

static int instance_by_id(const void *handle, u32 id, void **result) {
    int code;
    struct gpu *gpu = cut(handle, &code);
    if (!gpu || !find_instance(gpu, id))
        return gpu ? NOT_FOUND : code;
    return put(result, handle_of(INSTANCE, number_of(gpu), id, 0, ""));
}

int nvmlDeviceGetGpuInstanceById(void *handle, u32 id, void **result) {
    CALL(handle, instance_by_id(handle, id, result));
}

static int instance_info(const void *handle, struct instance_info *result) {
    int code;
    struct gpu *gpu;
    struct instance *each = behind(handle, INSTANCE, &gpu, &code);
    if (!each)
        return code;
    result->gpu = handle_of(GPU, number_of(gpu), 0, 0, "");
    result->id = each->id;
    result->profile = each->profile;
    result->place = (struct place){each->start, each->size};
    return OK;
}

int nvmlGpuInstanceGetInfo(void *handle, struct instance_info *result) {
    CALL(handle, instance_info(handle, result));
}

static int destroy(const void *handle) {
    int code;
    struct gpu *gpu;
    struct instance *each = behind(handle, INSTANCE, &gpu, &code);
    if (!each)
        return code;
    for (int i = 0; i < PARTS; i++)
        if (each->part[i].used)
            return IN_USE;
    each->used = 0;
    return OK;
}

int nvmlGpuInstanceDestroy(void *handle) { CALL(handle, destroy(handle)); }

// Compute instances.

static int part_profile(const void *handle, u32 query, u32 engines, struct part_profile *result) {
    int code;
    struct gpu *gpu;
    struct instance *each = behind(handle, INSTANCE, &gpu, &code);
    if (!each)
        return code;
    const struct profile *whole = by_id(gpu, each->profile);
    u32 slices = query < MOST_QUERIES ? part_slices[query] : 0;
    if (engines || !slices || slices > whole->slices || (slices == 3 && whole->slices == 4))
        return NOT_SUPPORTED;
    *result = (struct part_profile){query,          slices,        whole->slices / slices,
                                    whole->processors * slices / whole->slices,
                                    whole->copy,    whole->decoder, whole->encoder,
                                    whole->jpeg,    whole->ofa};
    return OK;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfo(
    void *handle, u32 query, u32 engines, struct part_profile *result) {
    CALL(handle, part_profile(handle, query, engines, result));
}

int nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    void *handle, u32 query, u32 engines, struct part_profile_v2 *result) {
    CALL(handle, result->version == PART_INFO_V2
                     ? part_profile(handle, query, engines, &result->profile)
                     : BAD_VERSION);
}

static u32 taken(const struct instance *instance) { // one bit a slice
    u32 found = 0;
    for (int i = 0; i < PARTS; i++)
        if (instance->part[i].used)
            found |= ((1u << instance->part[i].slices) - 1) << instance->part[i].start;
    return found;
}

static u32 free_slot(struct gpu *gpu) { // index of the MIG device; indices have holes
    u32 used = 0;
    for (int i = 0; i < INSTANCES; i++)
        for (int k = 0; gpu->instance[i].used && k < PARTS; k++)
            if (gpu->instance[i].part[k].used)
                used |= 1u << gpu->instance[i].part[k].slot;
    u32 slot = 0;
    while (used & 1u << slot)
        slot++;
    return slot;
}

static struct part *add_part(
    struct gpu *gpu, struct instance *instance, u32 query, u32 slices, u32 start) {
    u32 id = 0;
    while (find_part(instance, id, ""))
        id++;
    for (int i = 0; i < PARTS; i++) {
        struct part *each = &instance->part[i];
        if (each->used)
            continue;
        *each = (struct part){1, id, query, slices, start, free_slot(gpu), ""};
        snprintf(each->uuid, UUID, "MIG-%08x-%04x-5000-8000-%012x", 0xfa4e0000 + number_of(gpu),
                 instance->id, gpu->created++);
        return each;
    }
    return NULL;
}

static int create_part(const void *handle, u32 query, void **result) {
    int code;
    struct gpu *gpu;
    struct instance *each = behind(handle, INSTANCE, &gpu, &code);
    struct part_profile profile;
    code = each ? part_profile(handle, query, 0, &profile) : code;
    if (code)
        return code;
    u32 whole = by_id(gpu, each->profile)->slices, wanted = (1u << profile.slices) - 1;
    for (u32 start = 0; start + profile.slices <= whole; start++)
        if (!(taken(each) & wanted << start)) {
            struct part *made = add_part(gpu, each, query, profile.slices, start);
            return put(result, handle_of(PART, number_of(gpu), each->id, made->id, ""));
        }
    return NO_ROOM;
}

int nvmlGpuInstanceCreateComputeInstance(void *handle, u32 query, void **result) {
    CALL(handle, create_part(handle, query, result));
}

static int list_parts(const void *handle, u32 query, void **result, u32 *length) {
    int code;
    struct gpu *gpu;
    struct instance *each = behind(handle, INSTANCE, &gpu, &code);
    *length = 0;
    for (u32 id = 0; each && id < PARTS; id++) {
        struct part *part = find_part(each, id, "");
        if (part && part->query == query)
            result[(*length)++] = handle_of(PART, number_of(gpu), each->id, id, "");
    }
    return code;
}

int nvmlGpuInstanceGetComputeInstances(void *handle, u32 query, void **result, u32 *length) {
    CALL(handle, list_parts(handle, query, result, length));
}

static int part_by_id(const void *handle, u32 id, void **result) {
    int code;
    struct gpu *gpu;
    struct instance *each = behind(handle, INSTANCE, &gpu, &code);
    if (!each || !find_part(each, id, ""))
        return each ? NOT_FOUND : code;
    return put(result, handle_of(PART, number_of(gpu), each->id, id, ""));
}

int nvmlGpuInstanceGetComputeInstanceById(void *handle, u32 id, void **result) {
    CALL(handle, part_by_id(handle, id, result));
}

static int part_info(const void *handle, struct part_info *result) {
    int code;
    struct gpu *gpu;
    struct instance *instance;
    struct part *part = part_behind(handle, &gpu, &instance, &code);
    if (!part)
        return code;
    result->gpu = handle_of(GPU, number_of(gpu), 0, 0, "");
    result->instance = handle_of(INSTANCE, number_of(gpu), instance->id, 0, "");
    result->id = part->id;
    result->profile = part->query;
    result->place = (struct place){part->start, part->slices};
    return OK;
}

int nvmlComputeInstanceGetInfo_v2(void *handle, struct part_info *result) {
    CALL(handle, part_info(handle, result));
}

static int destroy_part(const void *handle) {
    int code;
    struct gpu *gpu;
    struct instance *instance;
    struct part *part = part_behind(handle, &gpu, &instance, &code);
    if (!part)
        return code;
    for (int i = 0; i < PROCESSES; i++)
        if (gpu->process[i].pid && strcmp(gpu->process[i].device, part->uuid) == 0)
            return IN_USE;
    part->used = 0;
    return OK;
}

int nvmlComputeInstanceDestroy(void *handle) { CALL(handle, destroy_part(handle)); }

// MIG devices: one for each compute instance.

static int most_devices(const void *handle, u32 *result) {
    int code;
    struct gpu *gpu = any_gpu(handle, GPU, &code);
    *result = 0;
    for (u32 i = 0; gpu && i < board_of(gpu)->profiles; i++)
        if (board_of(gpu)->profile[i].slices > *result)
            *result = board_of(gpu)->profile[i].slices;
    return code;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, u32 *result) {
    CALL(handle, most_devices(handle, result));
}

static int device_by_index(const void *handle, u32 index, void **result) {
    int code;
    struct gpu *gpu = any_gpu(handle, GPU, &code);
    if (!gpu)
        return code;
    for (int i = 0; i < INSTANCES; i++)
        for (int k = 0; gpu->instance[i].used && k < PARTS; k++) {
            struct part *part = &gpu->instance[i].part[k];
            if (part->used && part->slot == index)
                return put(result, handle_of(DEVICE, number_of(gpu), gpu->instance[i].id, part->id,
                                             part->uuid));
        }
    return NOT_FOUND;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, u32 index, void **result) {
    CALL(handle, device_by_index(handle, index, result));
}

static int is_device(const void *handle, u32 *result) {
    *result = target_of(handle, DEVICE) != NULL;
    return target_of(handle, GPU | DEVICE) ? OK : INVALID;
}

int nvmlDeviceIsMigDeviceHandle(void *handle, u32 *result) {
    CALL(handle, is_device(handle, result));
}

static int parent(const void *handle, void **result) {
    int code;
    struct gpu *gpu = any_gpu(handle, DEVICE, &code);
    return gpu ? put(result, handle_of(GPU, number_of(gpu), 0, 0, "")) : code;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *handle, void **result) {
    CALL(handle, parent(handle, result));
}

static int id_of(const void *handle, int of_part, u32 *result) {
    int code;
    struct gpu *gpu;
    struct instance *instance;
    struct part *part = part_behind(handle, &gpu, &instance, &code);
    if (part)
        *result = of_part ? part->id : instance->id;
    return code;
}

int nvmlDeviceGetGpuInstanceId(void *handle, u32 *result) {
    CALL(handle, id_of(handle, 0, result));
}

int nvmlDeviceGetComputeInstanceId(void *handle, u32 *result) {
    CALL(handle, id_of(handle, 1, result));
}

static int attributes(const void *handle, struct attributes *result) {
    int code;
    struct gpu *gpu;
    struct instance *instance;
    struct part *part = part_behind(handle, &gpu, &instance, &code);
    if (!part)
        return code;
    const struct profile *whole = by_id(gpu, instance->profile);
    *result = (struct attributes){whole->processors * part->slices / whole->slices,
                                  whole->copy,
                                  whole->decoder,
                                  whole->encoder,
                                  whole->jpeg,
                                  whole->ofa,
                                  whole->slices,
                                  part->slices,
                                  whole->mib};
    return OK;
}

int nvmlDeviceGetAttributes_v2(void *handle, struct attributes *result) {
    CALL(handle, attributes(handle, result));
}
