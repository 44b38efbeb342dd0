/* A simulator for `mmaproof replay FILE process:./simulator`, in C99 and libm. Compile with
 *
 *     cc -std=c99 -O2 -o simulator simulator.c -lm
 *
 * It computes d = c + a[0]*b[0] + a[1]*b[1] + ... in fp32 as a chain of fused multiply-adds: each product is added to
 * the sum so far with one rounding, to nearest even. That is what Xie et al. 2026 found AMD's CDNA1 to CDNA3 to do,
 * `cdna1/v_mfma_f32_16x16x4f32` and its like.
 *
 * The first line on stdin names the formats and k, each later one holds one row of operands and is answered by one
 * line on stdout, which is flushed: the other side may be waiting for it. Messages belong on stderr. To replace the
 * arithmetic by your own, change answer().
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *problem, const char *line)
{
    fprintf(stderr, "simulator: %s: %s\n", problem, line);
    exit(2);
}

/* Read one line, of any length, without its end into *line, which grows. Return 0 at the end of the input. */
static int read_line(char **line, size_t *size)
{
    size_t used = 0;
    for (;;) {
        if (*size - used < 2) {
            *size = 2 * *size + 256;
            *line = realloc(*line, *size);
            if (*line == NULL)
                fail("out of memory", "");
        }
        if (fgets(*line + used, (int)(*size - used), stdin) == NULL)
            return used > 0;
        used += strlen(*line + used);
        if ((*line)[used - 1] == '\n') {
            (*line)[used - 1] = '\0';
            return 1;
        }
    }
}

/* Return where the value of the field `name`, which stands in quotes, begins. */
static const char *value(const char *line, const char *name)
{
    const char *at = strstr(line, name);
    if (at == NULL)
        fail("a field is missing", line);
    return at + strlen(name) + strspn(at + strlen(name), " \t:[");
}

/* Return the number whose bit pattern stands at *at as "0x3f800000", and move *at behind it. */
static float next_number(const char **at, const char *line)
{
    char *end;
    uint32_t pattern;
    float number;
    *at += strspn(*at, " \t,\"");
    pattern = (uint32_t)strtoul(*at, &end, 16);
    if (end == *at || *end != '"')
        fail("not a list of patterns", line);
    *at = end;
    *at += 1;
    memcpy(&number, &pattern, sizeof number);
    return number;
}

/* Return d of one row of k products. */
static float answer(const char *row, long k)
{
    const char *a = value(row, "\"a\"");
    const char *b = value(row, "\"b\"");
    const char *c = value(row, "\"c\"");
    float d = next_number(&c, row);
    for (long i = 0; i < k; i++) {
        float x = next_number(&a, row);
        d = fmaf(x, next_number(&b, row), d);
    }
    return d;
}

int main(void)
{
    static const char *const formats[] = {"\"a_format\"", "\"b_format\"", "\"c_format\"", "\"d_format\""};
    char *line = NULL;
    size_t size = 0;
    long k;

    if (!read_line(&line, &size))
        return 0;
    for (int i = 0; i < 4; i++)
        if (strncmp(value(line, formats[i]), "\"fp32\"", 6) != 0)
            fail("this simulator takes and returns fp32, asked for is", line);
    k = strtol(value(line, "\"k\""), NULL, 10);

    while (read_line(&line, &size)) {
        uint32_t pattern;
        float d = answer(line, k);
        memcpy(&pattern, &d, sizeof pattern);
        printf("{\"d\": \"0x%08lx\"}\n", (unsigned long)pattern);
        fflush(stdout);
    }
    free(line);
    return 0;
}
