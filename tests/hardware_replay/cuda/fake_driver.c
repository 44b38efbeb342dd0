/* A stand-in for NVIDIA's driver: a GPU whose every kernel copies the words of c to d.

   MMAPROOF_FAKE_DRIVER says what else is wrong with it: "none" (no GPU), "old" (a driver of CUDA 11), "unknown" (a
   compute capability that no catalogue has), "launch" (launches fail). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801 };

static int is(const char *trouble) {
    const char *asked = getenv("MMAPROOF_FAKE_DRIVER");
    return asked && !strcmp(asked, trouble);
}

Result cuInit(unsigned flags) { return 0; }
Result cuDriverGetVersion(int *version) { *version = is("old") ? 11080 : 13000; return 0; }
Result cuDeviceGetCount(int *count) { *count = is("none") ? 0 : 1; return 0; }
Result cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
Result cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Fake H100", length); return 0; }
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == CAPABILITY_MAJOR ? (is("unknown") ? 99 : 9) : 0;
    return 0;
}
Result cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)7; return 0; }
Result cuCtxSetCurrent(void *context) { return context == (void *)7 ? 0 : 1; }

struct Buffer { size_t size; };
Result cuMemAlloc_v2(void **pointer, size_t size) {
    struct Buffer *buffer = malloc(sizeof *buffer + size);
    buffer->size = size;
    *pointer = buffer + 1;
    return 0;
}
Result cuMemFree_v2(void *pointer) { free((struct Buffer *)pointer - 1); return 0; }
Result cuMemcpyHtoD_v2(void *to, const void *from, size_t size) { memcpy(to, from, size); return 0; }
Result cuMemcpyDtoH_v2(void *to, void *from, size_t size) { memcpy(to, from, size); return 0; }

Result cuModuleLoadData(void **module, const void *image) {
    *module = (void *)9;
    return memcmp(image, "\177ELF", 4) ? 1 : 0;
}
Result cuModuleGetFunction(void **function, void *module, const char *name) { *function = strdup(name); return 0; }
Result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **parameters, void **extra) {
    void *c = *(void **)parameters[2], *d = *(void **)parameters[5];
    size_t held = ((struct Buffer *)c - 1)->size, wanted = ((struct Buffer *)d - 1)->size;
    if (is("launch")) return LAUNCH_FAILED;
    if (held != wanted || wanted % (gx * sizeof(unsigned)) || gy != 1 || gz != 1 || bx % 32) return 1;
    memcpy(d, c, wanted);
    return 0;
}

/* NVRTC looks for this too */
Result cuGetExportTable(const void **table, const void *identity) { *table = NULL; return NOT_SUPPORTED; }

static Result missing(void) { return NOT_SUPPORTED; }
Result cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, int *status) {
    char newer[256];
    void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    snprintf(newer, sizeof newer, "%s_v2", symbol);
    *function = dlsym(self, newer);
    if (!*function) *function = dlsym(self, symbol);
    if (!*function) *function = (void *)missing;
    if (status) *status = 0;
    return 0;
}
Result cuGetErrorString(Result error, const char **text) { *text = "an error"; return 0; }
Result cuGetErrorName(Result error, const char **text) { *text = "AN_ERROR"; return 0; }
