/* Can this machine run the fast variant of the kernel? On x86-64 that is AVX2 and FMA, saved by the system. */
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#if defined(FAST_VARIANT)
#include <cpuid.h>

EXPORT int supports_fast(void) {
    unsigned a, b, c, d, low, high;
    const unsigned needed = bit_FMA | bit_AVX | bit_OSXSAVE;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & needed) != needed)
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    return (b & bit_AVX2) != 0;
}
#else
EXPORT int supports_fast(void) { return 0; }
#endif
