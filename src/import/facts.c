/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of GPUs and processors: generation and width of the slot, generation of accelerator links, and the parameter
 * whose value and range the links of a kind have (topology/parameters.c). The first row that fits counts.
 */
#include "import/facts.h"

#include <ctype.h>

static const struct hop_gpu_facts gpus[] = {
    {"GB300|GB200|GB10[02]|10de:29[4-9]|10de:31[ac]", 5, 16, 5, NULL,
     "NVIDIA GB200 NVL72 data sheet: NVLink 5, PCIe 5"},
    {"B300|10de:318", 6, 16, 5, NULL,
     "NVIDIA HGX B300: NVLink 5, behind ConnectX-8 with PCIe 6; that of the GPU assumed"},
    {"_B[12]00|10de:29", 5, 16, 5, NULL, "NVIDIA DGX B200 user guide: PCIe 5, NVLink 5"},
    {"GH200|_H[128]00|_H20_|10de:23", 5, 16, 4, NULL, "NVIDIA H100 data sheet: PCIe 5 x16, NVLink 4"},
    {"_A40_|RTX 3090|RTX A[456][05]00_|10de:223", 4, 16, 3, "nvlink3_ga102",
     "NVIDIA A40, RTX A6000 data sheets: PCIe 4 x16, 4 links of 14 GB/s each way"},
    {"_A2_|RTX A400_|RTX A1000_|RTX 2000 Ada|RTX 40[56]0|RTX 3050", 4, 8, 0, NULL,
     "NVIDIA A2, RTX A1000, RTX 2000 Ada data sheets, GeForce RTX 4060 (TechPowerUp): PCIe 4 x8"},
    {"_A[18]00|_A30_|10de:20[bf]", 4, 16, 3, NULL, "NVIDIA A100, A30 data sheets: PCIe 4 x16, NVLink 3"},
    {"_A1[06]", 4, 16, 0, NULL, "NVIDIA A10, A16 data sheets: PCIe 4 x16"},
    {"V100|GV100|10de:1d[bf]", 3, 16, 2, NULL, "NVIDIA V100 data sheet: PCIe 3 x16, NVLink 2"},
    {"P100|GP100|10de:15f", 3, 16, 1, NULL, "NVIDIA P100 data sheet: PCIe 3 x16, NVLink 1"},
    {"_K20", 2, 16, 0, NULL, "NVIDIA Tesla K20 board specification BD-06455: PCIe 2 x16"},
    {"_T4_|_P4_|_P40_|_[km]#0_|GK210", 3, 16, 0, NULL,
     "NVIDIA Tesla K40 board specification BD-06902, T4, P40, K80, M60 data sheets: PCIe 3 x16"},
    {"RTX 50[56]0|RTX PRO 2000", 5, 8, 0, NULL,
     "GeForce RTX 5060 Ti (TechPowerUp), RTX PRO 2000 Blackwell data sheet: PCIe 5 x8"},
    {"RTX PRO|RTX 50[789]0", 5, 16, 0, NULL, "NVIDIA RTX PRO 6000 Blackwell data sheet: PCIe 5 x16"},
    {"RTX [34]0#0|RTX A|_L2_|_L4_|_L20_|_L40_|_L40S_|_Ada_", 4, 16, 0, NULL, "NVIDIA L4, L40S data sheets: PCIe 4 x16"},
    {"RTX 20[78]0|TITAN RTX|Quadro RTX", 3, 16, 2, NULL, "NVIDIA Quadro RTX 6000 data sheet: PCIe 3 x16, NVLink 2"},
    {"GTX 9|GTX 10|GTX 16|RTX 20|TITAN|Quadro", 3, 16, 0, NULL,
     "NVIDIA GeForce GTX 1080 specifications: PCIe 3 x16; of its kin assumed"},
    {"MI35[05]|gfx95|1002:75a", 5, 16, 0, "xgmi_gfx95x",
     "AMD Instinct MI350X data sheet: PCIe 5 x16, 7 links of 153.6 GB/s"},
    {"MI3[02][058]|gfx94|1002:74[ab]", 5, 16, 0, "xgmi_gfx94x",
     "AMD Instinct MI300X data sheet: PCIe 5 x16, 7 links of 128 GB/s"},
    {"MI2#0|gfx90a|1002:740", 4, 16, 0, "xgmi_gfx90a", "AMD Instinct MI250X data sheet: PCIe 4 x16, links of 100 GB/s"},
    {"Radeon VII", 3, 16, 0, NULL, "AMD Radeon VII specifications: PCIe 3 x16"},
    {"MI[56]0|MI100|gfx90[68]|1002:738|1002:66a1", 4, 16, 0, "xgmi_gfx906",
     "AMD Instinct MI100 data sheet: PCIe 4 x16, links of 92 GB/s"},
    {"RX [67]600|W[67][56]00", 4, 8, 0, NULL, "Radeon RX 6600 XT (TechPowerUp): PCIe 4 x8; of its kin assumed"},
    {"W[67][89]00|V620|RX [67][789]#0", 4, 16, 0, NULL, "AMD Radeon PRO W7900, V620 data sheets: PCIe 4 x16"},
    {"Max 1[1345]#0|Ponte Vecchio", 5, 16, 0, NULL, "Intel Data Center GPU Max data sheet: PCIe 5 x16"},
    {"Gaudi3|Gaudi 3", 5, 16, 0, NULL, "Intel Gaudi 3 white paper: PCIe 5 x16"},
};

#define AMD "AuthenticAMD"
#define INTEL "GenuineIntel"
#define XEON(model) "xeon*platinum*" model "|xeon*gold*" model "|xeon*silver*" model "|xeon*bronze*" model

static const struct hop_cpu_facts cpus[] = {
    {"threadripper*_[79]###", NULL, 0, 0, 0, 5, "socket", "AMD Threadripper 7000, PRO 7000 WX data sheets: PCIe 5"},
    {"threadripper*_[12]9##", NULL, 0, 0, 0, 3, "socket", "AMD Threadripper 1000 (Computex 2017), 2000: PCIe 3"},
    {"threadripper", NULL, 0, 0, 0, 4, "socket", "AMD Threadripper 3000, PRO 3000 WX, 5000 WX data sheets: PCIe 4"},
    {"epyc 9[0-9a-z][0-9a-z]5", AMD, 26, 0x00, 0x1f, 5, "socket_amd_gen5",
     "AMD EPYC 9005 data sheet: PCIe 5, xGMI 32 GT/s"},
    {"epyc 9[0-9a-z][0-9a-z]4|epyc 8##4", AMD, 25, 0x10, 0x1f, 5, "socket_amd_gen5",
     "AMD EPYC 9004 data sheet: PCIe 5, 3 or 4 xGMI links at 32 GT/s"},
    {"epyc 9#84", AMD, 25, 0xa0, 0xaf, 5, "socket_amd_gen5", "AMD EPYC 9754, 9684X data sheets: PCIe 5"},
    {"epyc 7[0-9a-z][0-9a-z]3", AMD, 25, 0x00, 0x0f, 4, "socket_amd", "AMD EPYC 7003 data sheet: PCIe 4, xGMI 18 GT/s"},
    {"epyc 7[0-9a-z][0-9a-z]2", AMD, 23, 0x30, 0x3f, 4, "socket_amd", "AMD EPYC 7002 data sheet: PCIe 4, xGMI 18 GT/s"},
    {"epyc 7##1", AMD, 23, 0x00, 0x2f, 3, "socket_amd", "AMD EPYC 7001 data sheet: PCIe 3, xGMI 10.7 GT/s"},
    {"xeon* 6###[pe]", INTEL, 6, 0xad, 0xb0, 5, "socket_granite_rapids",
     "Intel Xeon 6 6900P: PCIe 5, 6 UPI links at 24 GT/s"},
    {XEON("[3-8]5##"), INTEL, 6, 0xcf, 0xcf, 5, "socket_emerald_rapids",
     "Intel Xeon, 5th generation: PCIe 5, UPI 20 GT/s"},
    {XEON("[3-8]4##") "|xeon*max 94", INTEL, 6, 0x8f, 0x8f, 5, "socket_sapphire_rapids",
     "Intel Xeon, 4th generation: PCIe 5, 4 UPI links at 16 GT/s"},
    {XEON("[58]3##h"), NULL, 0, 0, 0, 3, "socket_skylake",
     "Intel Xeon, 3rd generation, Cooper Lake: PCIe 3, UPI 10.4 GT/s"},
    {XEON("[3-8]3##"), INTEL, 6, 0x6a, 0x6c, 4, "socket_skylake", "Intel Xeon, 3rd generation: PCIe 4, UPI 11.2 GT/s"},
    {XEON("[3-8][12]##"), INTEL, 6, 0x55, 0x55, 3, "socket_skylake",
     "Intel Xeon, 1st and 2nd generation: PCIe 3, 3 UPI links at 10.4 GT/s"},
    {"xeon* e[57]-", INTEL, 6, 0x2d, 0x4f, 3, "socket_broadwell",
     "Intel Xeon E5 v1 to v4: PCIe 3, 2 QPI links at 9.6 GT/s"},
    {"power9", NULL, 0, 0, 0, 4, "socket_power9", "IBM POWER9 processor user's manual: PCIe 4, X bus"},
    {"power8", NULL, 0, 0, 0, 3, "socket", "IBM POWER8 processor user's manual: PCIe 3"},
    {"grace", NULL, 0, 0, 0, 5, "socket", "NVIDIA Grace data sheet: PCIe 5"},
};

/* Of processors that are in no row nothing is known but how NCCL rates the link between them (its src/graph/topo.cc). */
static const struct hop_cpu_facts others[] = {
    {NULL, INTEL, 6, 207, 65535, 0, "socket_emerald_rapids", NULL},
    {NULL, INTEL, 6, 143, 206, 0, "socket_sapphire_rapids", NULL},
    {NULL, INTEL, 6, 85, 142, 0, "socket_skylake", NULL},
    {NULL, INTEL, 6, 1, 84, 0, "socket_broadwell", NULL},
};
static const struct hop_cpu_facts some_amd = {.socket = "socket_amd"}, unknown = {.socket = "socket"};

/* What copies of GPUs get of 16 lanes: the least, the usual and the most that vendors and users print. */
static const struct {
    double usual, low, high;
} slots[] = {{0, 0, 0},
             {3.0e9, 2.6e9, 3.4e9},
             {6.0e9, 5.4e9, 6.8e9},
             {12.6e9, 11.5e9, 13.4e9},
             {26.0e9, 24.0e9, 27.5e9},
             {55.5e9, 53.0e9, 57.6e9},
             {108e9, 95e9, 118e9}};

static bool is_word(char c)
{
    return isalnum((unsigned char)c);
}

/* Whether a character is one of those between p, behind the opening bracket, and the closing one: [af] or [3-8]. */
static bool is_among(const char *p, char c)
{
    for (; *p != ']'; p++) {
        if (p[1] == '-' && p[2] != ']' ? c >= p[0] && c <= p[2] : c == *p)
            return true;
        p += p[1] == '-' ? 2 : 0;
    }
    return false;
}

/* Whether a pattern fits a part of the name that begins at s. Upper and lower case are alike. */
static bool fits_at(const char *p, const char *s, const char *name)
{
    for (; *p && *p != '|'; p++) {
        char c = (char)tolower((unsigned char)*s);
        if (*p == '*')
            return fits_at(p + 1, s, name) || (*s && fits_at(p, s + 1, name));
        if (*p == '_') {
            if ((s > name && is_word(s[-1])) == is_word(*s))
                return false;
            continue;
        }
        if (!c || (*p == '#'   ? !isdigit((unsigned char)c)
                   : *p == '[' ? !is_among(p + 1, c)
                               : tolower((unsigned char)*p) != c))
            return false;
        p = *p == '[' ? strchr(p, ']') : p;
        s++;
    }
    return true;
}

/* A pattern: alternatives between bars; '*' is anything, '#' a digit, '_' the begin or end of a word, [...] one of those.
 * (regcomp of some C libraries ends the process on a failed allocation.) */
static bool fits(const char *patterns, const char *name)
{
    for (const char *p = patterns; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL) {
        for (const char *s = name;; s++) {
            if (fits_at(p, s, name))
                return true;
            if (!*s)
                break;
        }
    }
    return false;
}

const struct hop_gpu_facts *hop_gpu_facts(const char *name)
{
    for (size_t i = 0; name && i < HOP_COUNT(gpus); i++) {
        if (fits(gpus[i].names, name))
            return &gpus[i];
    }
    return NULL;
}

/* "Intel(R) Xeon(R) Platinum 8480+": the marks say nothing. */
static void drop_marks(const char *name, char *plain, size_t size)
{
    size_t used = 0;
    while (*name && used + 1 < size) {
        if (*name == '(') {
            name += strcspn(name, ")");
            name += *name == ')';
        } else {
            plain[used++] = *name++;
        }
    }
    plain[used] = '\0';
}

const struct hop_cpu_facts *hop_cpu_facts(const char *name)
{
    char plain[128];
    if (!name)
        return NULL;
    drop_marks(name, plain, sizeof plain);
    for (size_t i = 0; i < HOP_COUNT(cpus); i++) {
        if (fits(cpus[i].names, plain))
            return &cpus[i];
    }
    return NULL;
}

static const struct hop_cpu_facts *by_cpuid(const struct hop_cpu_facts *rows, size_t count, const char *vendor,
                                            long family, long model)
{
    /* NCCL writes the two fields of a family beside each other: 175 is 15 + 10, which is 25. */
    long plain = family > 15 * 2 ? (family & 15) + (family >> 4) : family;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].vendor && strcmp(rows[i].vendor, vendor) == 0 && rows[i].family == (unsigned)plain &&
            model >= rows[i].first_model && model <= rows[i].last_model)
            return &rows[i];
    }
    return NULL;
}

const struct hop_cpu_facts *hop_cpu_facts_of(const struct hop_build *build, const char *vendor, long family, long model,
                                             const char *name)
{
    const struct hop_cpu_facts *found = build->cpu ? hop_cpu_facts(build->cpu) : NULL;
    found = found ? found : by_cpuid(cpus, HOP_COUNT(cpus), vendor, family, model);
    found = found ? found : hop_cpu_facts(name);
    found = found ? found : by_cpuid(others, HOP_COUNT(others), vendor, family, model);
    return found ? found : strcmp(vendor, AMD) == 0 || strcmp(vendor, "AMD") == 0 ? &some_amd : &unknown;
}

unsigned hop_facts_generation(const struct hop_gpu_facts *gpu, const struct hop_cpu_facts *cpu)
{
    unsigned a = gpu ? gpu->pcie : 0, b = cpu ? cpu->pcie : 0;
    return !a || (b && b < a) ? b : a;
}

void hop_facts_pcie(struct hop_build *build, unsigned generation, const char *because)
{
    if (generation < HOP_COUNT(slots))
        hop_build_assume(
            build, "pcie_link", slots[generation].usual, slots[generation].low, slots[generation].high,
            hop_build_text(build, "assumed: what copies get of generation %u x16; %s", generation, because));
}

static const void *gpu_facts(const char *name)
{
    return hop_gpu_facts(name);
}

static const void *cpu_facts(const char *name)
{
    return hop_cpu_facts(name);
}

/* Whether words of the name alone mean different things, by what is known of them or by their numbers: "H100 H200". */
static bool names_two(const char *name, const void *(*facts)(const char *name))
{
    static const char between[] = " ,;/+", digits[] = "0123456789";
    const void *first = NULL;
    unsigned long number = 0;
    for (const char *at = name + strspn(name, between); *at; at += strspn(at, between)) {
        char word[64] = "";
        size_t length = strcspn(at, between);
        memcpy(word, at, length < sizeof word ? length : sizeof word - 1);
        const void *found = facts(word);
        unsigned long its = strtoul(word + strcspn(word, digits), NULL, 10);
        if (first && found && (found != first || its != number))
            return true;
        number = first ? number : its;
        first = first ? first : found;
        at += length;
    }
    return false;
}

static void check_name(struct hop_build *build, const char *what, const char *name,
                       const void *(*facts_of)(const char *name), const char *examples)
{
    const void *facts = name ? facts_of(name) : NULL;
    bool printable = true; /* it becomes a label */
    for (const char *c = name; c && *c; c++)
        printable = printable && *c >= ' ' && *c <= '~';
    bool two = facts && printable && names_two(name, facts_of);
    if (!name || (facts && printable && !two))
        return;
    if (two)
        hop_build_fail(build, HOP_ERR_INVALID, "'%.80s' names more than one %s\none name as %s", name, what, examples);
    else
        hop_build_fail(build, HOP_ERR_NOT_FOUND,
                       "nothing is known of a %s '%.80s'\na name as %s (docs/uncalibrated.md)", what, name, examples);
    hop_failure_place(&build->failure, "the name of the %s", what);
}

void hop_facts_check(struct hop_build *build)
{
    check_name(build, "GPU", build->gpu, gpu_facts,
               "nvidia-smi or rocm-smi print it, such as A100, H100, RTX PRO 6000 or MI300X");
    check_name(build, "processor", build->cpu, cpu_facts, "lscpu prints it, such as EPYC 9575F or Xeon Platinum 8480");
}
