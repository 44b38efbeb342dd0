"""The judge of one unit as one file in C11: it says of a product in .npy files whether it has the bits of the unit."""

from __future__ import annotations

from mmaproof.generators.formats.selection import plain
from mmaproof.generators.models.c_model import c_library
from mmaproof.generators.models.c_statements import c_type, pointers
from mmaproof.generators.models.model import Model

_PROGRAM = """
/* The judge. Matrices are .npy files of patterns, or of a type of the same width; rows are in C order:
 *   cc -std=c11 -O2 -o judge FILE.c
 *   ./judge a.npy b.npy d.npy [c.npy{scale_files}]
 * a is M x K, b is K x N, c and d are M x N{scale_shapes}. Without c, c is zero.
 * Status 0: all bits are those of {design}; 1: others; 2: a file cannot be judged.
 */
#include <stdio.h>
#include <stdlib.h>

struct matrix {{ size_t rows, columns; unsigned char *data; }};

static void refuse(const char *file, const char *why)
{{
    fprintf(stderr, "error: %s: %s\\n", file, why);
    exit(2);
}}

static struct matrix read_npy(const char *file, size_t bytes)
{{
    unsigned char start[12];
    char *header, *at;
    size_t length, prefix;
    unsigned long long rows, columns;
    struct matrix found;
    FILE *stream = fopen(file, "rb");
    if (stream == NULL || fread(start, 1, 10, stream) != 10 || memcmp(start, "\\x93NUMPY", 6) != 0)
        refuse(file, "no .npy file");
    prefix = start[6] == 1 ? 10 : 12;
    if (prefix == 12 && fread(start + 10, 1, 2, stream) != 2)
        refuse(file, "ends early");
    length = start[8] | (size_t)start[9] << 8;
    if (prefix == 12)
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    header = malloc(length + 1);
    if (header == NULL || fread(header, 1, length, stream) != length)
        refuse(file, "ends early");
    header[length] = 0;
    at = strstr(header, "'descr': '");
    if (at == NULL || (bytes > 1 && at[10] == '>') || strtoull(at + 12, NULL, 10) != bytes)
        refuse(file, "elements of another width, or big endian");
    at = strstr(header, "'fortran_order': ");
    if (at == NULL || at[17] != 'F')
        refuse(file, "Fortran order; np.ascontiguousarray changes it");
    at = strstr(header, "'shape': (");
    if (at == NULL || sscanf(at + 10, "%llu, %llu)", &rows, &columns) != 2 || rows == 0 || columns == 0)
        refuse(file, "no matrix");
    found.rows = rows;
    found.columns = columns;
    if (columns > SIZE_MAX / bytes / rows || (found.data = malloc(rows * columns * bytes)) == NULL)
        refuse(file, "too large");
    if (fread(found.data, bytes, rows * columns, stream) != rows * columns || fgetc(stream) != EOF)
        refuse(file, "has another size than its shape");
    fclose(stream);
    free(header);
    return found;
}}

/* Return a matrix of more rows and columns, in which what is missing has the pattern filler. */
static struct matrix padded(struct matrix x, size_t rows, size_t columns, size_t bytes, unsigned long long filler)
{{
    struct matrix found = {{rows, columns, malloc(rows * columns * bytes)}};
    if (found.data == NULL)
        refuse("memory", "too large");
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {{
            unsigned char *to = found.data + (i * columns + j) * bytes;
            if (i < x.rows && j < x.columns)
                memcpy(to, x.data + (i * x.columns + j) * bytes, bytes);
            else
                for (size_t byte = 0; byte < bytes; byte++)
                    to[byte] = (unsigned char)(filler >> 8 * byte);
        }}
    free(x.data);
    return found;
}}

int main(int count, char **files)
{{
    unsigned long long different = 0;
    size_t m, n, k, instructions;
    struct matrix a, b, c, d{scale_names};
    {d} *row;
    if (count < {least} || count > {most} || (count > 5 && count != {most}))
        refuse("usage", "judge a.npy b.npy d.npy [c.npy{scale_files}]");
    a = read_npy(files[1], sizeof({a}));
    b = read_npy(files[2], sizeof({b}));
    d = read_npy(files[3], sizeof({d}));
    m = a.rows, k = a.columns, n = b.columns;
    if (b.rows != k || d.rows != m || d.columns != n)
        refuse(files[3], "shapes are not (M, K), (K, N), (M, N)");
    c.rows = m, c.columns = n, c.data = calloc(m * n, sizeof({c}));
    if (count > 4)
        c = read_npy(files[4], sizeof({c}));
    if (c.data == NULL || c.rows != m || c.columns != n)
        refuse(count > 4 ? files[4] : "memory", "c is not (M, N)");
    instructions = (k + {upper}_K - 1) / {upper}_K;
    if (instructions > 1 && k % {upper}_K != 0)
        refuse(files[1], "K is above that of the instruction, and not a multiple of it");
{only_one}{read_scales}    a = padded(a, m, instructions * {upper}_K, sizeof({a}), 0);
    b = padded(b, instructions * {upper}_K, n, sizeof({b}), 0);
    row = malloc(n * sizeof *row);
    if (row == NULL)
        refuse("memory", "too large");
    for (size_t i = 0; i < m; i++) {{
        const {d} *given = ({d} *)d.data + i * n;
        {name}_tile(1, n, {instructions}({a} *)a.data + i * a.columns, ({b} *)b.data,
            ({c} *)c.data + i * n, {scales}row);
        for (size_t j = 0; j < n; j++)
            if (row[j] != given[j] && different++ == 0)
                printf("first: [%llu, %llu] is 0x%0{digits}llx, and the unit returns 0x%0{digits}llx\\n",
                       (unsigned long long)i, (unsigned long long)j, (unsigned long long)given[j],
                       (unsigned long long)row[j]);
    }}
    if (different == 0)
        printf("exact: {design}\\n");
    else
        printf("other bits: %llu of %llu elements\\n", different, (unsigned long long)m * n);
    return different != 0;
}}
"""

_ONLY_ONE = """\
    if (instructions != 1)
        refuse(files[1], "K is larger than that of the instruction, and a chain of this one is not judged");
"""

_SCALES = """\
    if (count != 7)
        refuse("usage", "scales of blocks are needed: judge a.npy b.npy d.npy c.npy scale_a.npy scale_b.npy");
    scale_a = read_npy(files[5], 1);
    scale_b = read_npy(files[6], 1);
    if (scale_a.rows != m || scale_b.columns != n || scale_a.columns != scale_b.rows ||
        scale_a.columns > instructions * {upper}_BLOCKS || k * {upper}_BLOCKS != scale_a.columns * {upper}_K)
        refuse(files[5], "one scale for each block of k is needed: (M, blocks) and (blocks, N)");
    scale_a = padded(scale_a, m, instructions * {upper}_BLOCKS, 1, {one}u);
    scale_b = padded(scale_b, instructions * {upper}_BLOCKS, n, 1, {one}u);
"""


def c_judge(model: Model) -> str:
    """Return the program: the model, and a main that compares its results with those of files."""
    header, source = (c_library(model)[f"{model.name}{x}"] for x in (".h", ".c"))
    include = f'#include "{model.name}.h"\n'
    design, upper = model.design, model.name.upper()
    scale = design.scale_format
    formats = {
        x.name: c_type(fmt) for x, fmt in zip(pointers(model.first), (c.format for c in model.columns), strict=True)
    }
    program = _PROGRAM.format(
        name=model.name,
        design=plain(design.name),
        upper=upper,
        **{x: formats[x] for x in "abc"},
        d=c_type(design.d_format),
        digits=design.d_format.hex_digits,
        least=4,
        most=5 if scale is None else 7,
        instructions="instructions, " if model.chains else "",
        # between two instructions a plan converts d to a c of another format, and a chain hands it on
        only_one="" if model.chains and model.later is model.first else _ONLY_ONE,
        scale_files="" if scale is None else " scale_a.npy scale_b.npy",
        scale_shapes="" if scale is None else ", scales are M x blocks and blocks x N",
        scale_names="" if scale is None else ", scale_a, scale_b",
        read_scales="" if scale is None else _SCALES.format(upper=upper, one=scale.encode(1)),
        scales="" if scale is None else "scale_a.data + i * scale_a.columns, scale_b.data, ",
    )
    return header + source.replace(include, "") + program
