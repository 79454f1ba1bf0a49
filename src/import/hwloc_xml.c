/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwloc's XML, checked and handed to libhwloc, which trusts it and crashes on much that is wrong: libxml2 looks first
 * whether a text is well formed and keeps the rules that the library takes for granted (the check_ functions).
 */
#include "base/base.h"

#ifdef HOP_HAVE_HWLOC

#include "import/hwloc_load.h"
#include "import/xml.h"

#include <ctype.h>
#include <libxml/tree.h>
#include <stdio.h>

#define XML_LIMIT ((size_t)16 << 20) /* bytes; the largest machines need a few MB */
enum { MATRIX_LIMIT = 4096, INDEX_LIMIT = 1 << 20, SET_LIMIT = 1 << 14 };
enum { OBJECT_LIMIT = 1 << 14, ELEMENT_LIMIT = 1 << 16 }; /* libhwloc's time grows with the square of the first */

/* A document that is checked. */
struct check {
    const char *name;
    struct hop_failure failure;
};

static void refuse(struct check *c, const xmlNode *element, const char *format, ...) HOP_PRINTF(3, 4);
static void refuse(struct check *c, const xmlNode *element, const char *format, ...)
{
    va_list arguments;
    if (c->failure.status != HOP_OK)
        return;
    va_start(arguments, format);
    c->failure.status = hop_fail_with(c->failure.diag, HOP_ERR_INVALID, format, arguments);
    va_end(arguments);
    hop_failure_place(&c->failure, "%.150s:%ld: <%.40s>", c->name, xmlGetLineNo((xmlNode *)element),
                      (const char *)element->name);
}

static bool is_one_of(const char *text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0)
            return true;
    }
    return false;
}

/* What libhwloc writes: "0xf...f" perhaps, then words of up to 8 digits, "0x0000000f,,0x1"; a zero word in between may
 * be empty. libhwloc asserts on others. */
static bool is_bitmap(const char *text)
{
    if (strncmp(text, "0xf...f", 7) == 0)
        text += text[7] == ',' ? 8 : 7;
    else if (strncmp(text, "0x", 2) != 0)
        return false;
    while (*text) {
        size_t digits = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
        if (*text != ',' && (digits < 1 || digits > 8))
            return false;
        text += digits ? 2 + digits : 0;
        if (*text && *text++ != ',')
            return false;
    }
    return true;
}

/* Objects with cores have all four sets, others have none: libhwloc reads them without asking. */
static void check_sets(struct check *c, const xmlNode *element, bool with_cores)
{
    static const char *const sets[] = {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"};
    for (size_t i = 0; i < HOP_COUNT(sets); i++) {
        const char *set = hop_xml_attribute(element, sets[i]);
        if (with_cores && (!set || !*set))
            refuse(c, element,
                   "an object lacks one of its sets\ncpuset, complete_cpuset, nodeset and complete_nodeset");
        if (!with_cores && set)
            refuse(c, element, "an I/O or Misc object has a set\nno cpuset and no nodeset");
    }
}

static bool has_cores(const xmlNode *element)
{
    static const char *const memory[] = {"NUMANode", "MemCache"};
    const char *type = hop_xml_attribute(element, "type");
    return element->type == XML_ELEMENT_NODE && hop_xml_attribute(element, "complete_cpuset") && type &&
           !is_one_of(type, memory, HOP_COUNT(memory));
}

static hwloc_bitmap_t read_set(struct check *c, const xmlNode *element, const char *text)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set)
        hop_failure_set(&c->failure, HOP_ERR_MEMORY, "out of memory");
    else if (hwloc_bitmap_sscanf(set, text) != 0)
        refuse(c, element, "a set is malformed\nhexadecimal words, as in 0x00000003");
    return set;
}

/* A PU or NUMA node that is not in its own set is dropped, and without any libhwloc prints that it aborts. */
static void check_index(struct check *c, const xmlNode *element, const char *set)
{
    const char *index = hop_xml_attribute(element, "os_index");
    if (!index || !isdigit((unsigned char)*index) || strtoul(index, NULL, 10) >= INDEX_LIMIT)
        refuse(c, element, "no os_index, or too large a one\n0 to 1048575");
    if (c->failure.status != HOP_OK)
        return;
    hwloc_bitmap_t own = read_set(c, element, set);
    if (own && !hwloc_bitmap_isset(own, (unsigned)strtoul(index, NULL, 10)))
        refuse(c, element, "an object's set does not hold its os_index\ncpuset of a PU, nodeset of a NUMANode");
    hwloc_bitmap_free(own);
}

/* Siblings with cores go by their first core; libhwloc would print a banner and sort them. */
static void check_order(struct check *c, const xmlNode *element)
{
    const xmlNode *before = has_cores(element) ? element->prev : NULL;
    while (before && !has_cores(before))
        before = before->prev;
    if (!before)
        return;
    hwloc_bitmap_t first = read_set(c, element, hop_xml_attribute(before, "complete_cpuset")),
                   second = read_set(c, element, hop_xml_attribute(element, "complete_cpuset"));
    if (first && second && hwloc_bitmap_compare_first(second, first) < 0)
        refuse(c, element, "objects are out of order\nsiblings in the order of their first cores");
    hwloc_bitmap_free(first);
    hwloc_bitmap_free(second);
}

/* libhwloc indexes tables by the type, takes attributes before it for granted, and sizes sets by the highest index. */
static void check_object(struct check *c, const xmlNode *element)
{
    static const char *const cored[] = {"Machine",  "Package", "Die",      "Core",    "PU",       "L1Cache",
                                        "L2Cache",  "L3Cache", "L4Cache",  "L5Cache", "L1iCache", "L2iCache",
                                        "L3iCache", "Group",   "NUMANode", "MemCache"};
    static const char *const special[] = {"Bridge", "PCIDev", "OSDev", "Misc"};
    const xmlAttr *first = element->properties;
    const char *type = hop_xml_attribute(element, "type");
    const char *bridge = hop_xml_attribute(element, "bridge_type");
    bool with_cores = type && is_one_of(type, cored, HOP_COUNT(cored));
    if (!first || strcmp((const char *)first->name, "type") != 0) {
        refuse(c, element, "an object does not begin with its type\n<object type=\"...\" ...>");
        return;
    }
    if (!with_cores && !is_one_of(type, special, HOP_COUNT(special)))
        refuse(c, element, "an object of no known type\nMachine, Package, NUMANode, PU, Bridge, PCIDev, ...");
    if ((strcmp((const char *)element->parent->name, "topology") == 0) != (strcmp(type, "Machine") == 0))
        refuse(c, element, "the outermost object, and no other, is the machine\n<object type=\"Machine\" ...>");
    if (strcmp(type, "Bridge") == 0 && (!bridge || (strcmp(bridge, "0-1") != 0 && strcmp(bridge, "1-1") != 0)))
        refuse(c, element, "a bridge of no known type\nbridge_type=\"0-1\" or \"1-1\"");
    check_sets(c, element, with_cores);
    if (strcmp(type, "PU") == 0)
        check_index(c, element, hop_xml_attribute(element, "cpuset"));
    if (strcmp(type, "NUMANode") == 0)
        check_index(c, element, hop_xml_attribute(element, "nodeset"));
    if (c->failure.status == HOP_OK)
        check_order(c, element);
}

/* What else an object may hold comes before the objects in it. */
static void check_part(struct check *c, const xmlNode *element)
{
    static const char *const parts[] = {"info", "page_type", "userdata"};
    const char *owner = hop_xml_attribute(element->parent, "type");
    const xmlNode *before = element->prev;
    if (!is_one_of((const char *)element->name, parts, HOP_COUNT(parts)))
        refuse(c, element, "an object holds something else than objects\n<info>, <page_type> or <object>");
    if (strcmp((const char *)element->name, "page_type") == 0 && strcmp(owner, "NUMANode") != 0 &&
        strcmp(owner, "Machine") != 0)
        refuse(c, element, "page sizes in an object that is no memory\nthem in a NUMANode");
    while (before && before->type != XML_ELEMENT_NODE)
        before = before->prev;
    if (before && strcmp((const char *)before->name, "object") == 0)
        refuse(c, element, "this comes after an object\nthe objects last");
}

/* Attributes that name sets, whatever the element: cpuset, allowed_nodeset, ... Each comma separates 32 bits, so the
 * length bounds the set. */
static void check_bitmaps(struct check *c, const xmlNode *element)
{
    for (const xmlAttr *at = element->properties; at; at = at->next) {
        const char *key = (const char *)at->name, *value = hop_xml_attribute(element, key);
        size_t length = strlen(key);
        if (length >= 3 && strcmp(key + length - 3, "set") == 0 && value &&
            (strlen(value) > SET_LIMIT || !is_bitmap(value)))
            refuse(c, element, "a set is malformed or too large\nhexadecimal words, as in 0x00000003");
    }
}

static void check_element(struct check *c, const xmlNode *element)
{
    const char *tag = (const char *)element->name, *objects = hop_xml_attribute(element, "nbobjs");
    check_bitmaps(c, element);
    if (c->failure.status != HOP_OK)
        return;
    if (strcmp(tag, "object") == 0)
        check_object(c, element);
    else if (strcmp((const char *)element->parent->name, "object") == 0)
        check_part(c, element);
    else if (strncmp(tag, "distances", 9) == 0 && objects && strtoul(objects, NULL, 10) > MATRIX_LIMIT)
        refuse(c, element, "a matrix of too many objects\nat most 4096"); /* libhwloc multiplies them in 32 bits */
}

static bool is_object(const xmlNode *element, const char *type)
{
    const char *own = hop_xml_attribute(element, "type");
    return strcmp((const char *)element->name, "object") == 0 && own && strcmp(own, type) == 0;
}

/* Every element in document order; libxml2 has bounded the depth. */
static void check_elements(struct check *c, xmlNode *root)
{
    bool cores = false, memory = false;
    unsigned objects = 0, elements = 0;
    xmlNode *at = root;
    while (at && c->failure.status == HOP_OK) {
        if (at->type == XML_ELEMENT_NODE && at != root) {
            objects += strcmp((const char *)at->name, "object") == 0;
            if (objects > OBJECT_LIMIT || ++elements > ELEMENT_LIMIT)
                refuse(c, at, "the topology is too large\nat most 16384 objects and 65536 elements");
            check_element(c, at);
            cores = cores || is_object(at, "PU");
            memory = memory || is_object(at, "NUMANode");
        }
        if (at->type == XML_ELEMENT_NODE && at->children) {
            at = at->children;
            continue;
        }
        while (at && at != root && !at->next)
            at = at->parent;
        at = at == root ? NULL : at->next;
    }
    if (!cores || !memory)
        refuse(c, root, "there is no PU, or no NUMANode\nat least one of each");
}

/* libhwloc may be built without its libxml2 plugin; its own reader then knows no comments. */
static void drop_comments(xmlNode *node)
{
    while (node) {
        xmlNode *after = node->children, *up = node;
        while (!after && up) { /* the next in document order */
            after = up->next;
            up = up->parent;
        }
        if (node->type == XML_COMMENT_NODE || node->type == XML_PI_NODE) {
            xmlUnlinkNode(node);
            xmlFreeNode(node);
        }
        node = after;
    }
}

/* Checks a document, and writes it again for libhwloc: *text is the caller's, freed by xmlFree. */
static enum hop_status check_document(const struct hop_source *source, xmlChar **text, int *size, struct hop_diag *diag)
{
    struct check c = {source->name, {.diag = diag}};
    xmlDoc *document = hop_xml_parse(source, &c.failure);
    xmlNode *root = document ? xmlDocGetRootElement(document) : NULL;
    if (!root)
        return c.failure.status;
    if (document->intSubset && document->intSubset->children)
        refuse(&c, root, "the document declares entities or elements of its own\nplain hwloc XML");
    else if (!hop_xml_attribute(root, "version") || strtoul(hop_xml_attribute(root, "version"), NULL, 10) < 2)
        refuse(&c, root, "the topology is of hwloc 1\nversion=\"2.0\"; `lstopo -i OLD.xml NEW.xml` converts");
    else
        check_elements(&c, root);
    if (c.failure.status == HOP_OK) {
        drop_comments(document->children);
        xmlDocDumpMemoryEnc(document, text, size, "UTF-8");
        if (!*text)
            hop_failure_set(&c.failure, HOP_ERR_MEMORY, "out of memory");
    }
    xmlFreeDoc(document);
    return c.failure.status;
}

enum hop_status hop_hwloc_open_xml(const struct hop_source *source, struct hop_hwloc *hwloc, struct hop_diag *diag)
{
    xmlChar *text = NULL;
    int size = 0;
    if (source->size >= XML_LIMIT) {
        hop_fail(diag, HOP_ERR_LIMIT, "the hwloc XML has %zu bytes\nless than %zu", source->size, XML_LIMIT);
        hop_diag_place(diag, "%.150s", source->name);
        return HOP_ERR_LIMIT;
    }
    enum hop_status status = check_document(source, &text, &size, diag);
    if (status != HOP_OK)
        return status;
    status = hop_hwloc_begin(hwloc, diag);
    if (status == HOP_OK && (hwloc_topology_set_xmlbuffer(hwloc->machine, (const char *)text, size + 1) != 0 ||
                             hwloc_topology_load(hwloc->machine) != 0)) {
        hop_hwloc_close(hwloc);
        status =
            hop_fail(diag, HOP_ERR_INVALID,
                     "libhwloc refuses this topology\nhwloc XML with its cpusets and nodesets; a newer hwloc writes "
                     "older XML by `lstopo --export-xml-flags v2 FILE.xml`");
        hop_diag_place(diag, "%.150s", source->name);
    }
    xmlFree(text);
    return status;
}

#endif
