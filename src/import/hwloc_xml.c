/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwloc's XML, checked and handed to libhwloc.
 *
 * libhwloc trusts its XML and crashes on much that is wrong with it, so libxml2 looks first: a text must be well formed
 * and keep the rules that the library takes for granted (the check_ functions). What passes may still be refused by
 * libhwloc, which does not say where, and which is silent unless HWLOC_XML_VERBOSE is in the environment.
 */
#include "base/base.h"

#ifdef HOP_HAVE_HWLOC

#include "import/hwloc_load.h"

#include <ctype.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>

#define XML_LIMIT ((size_t)16 << 20) /* bytes; the largest machines need a few MB */
enum { MATRIX_LIMIT = 4096, INDEX_LIMIT = 1 << 20, SET_LIMIT = 1 << 14 };
enum { OBJECT_LIMIT = 1 << 14, ELEMENT_LIMIT = 1 << 16 }; /* libhwloc's time grows with the square of the first */

static enum hop_status refuse(const char *name, const xmlNode *element, const char *what, const char *expected,
                              struct hop_diag *diag)
{
    hop_fail(diag, HOP_ERR_INVALID, "%s", what);
    hop_diag_place(diag, "%.150s:%ld: <%.40s>", name, xmlGetLineNo((xmlNode *)element), (const char *)element->name);
    hop_diag_expect(diag, "%s", expected);
    return HOP_ERR_INVALID;
}

/* An attribute's plain text, NULL when there is none. */
static const char *attribute(const xmlNode *element, const char *name)
{
    for (const xmlAttr *a = element->properties; a; a = a->next) {
        if (strcmp((const char *)a->name, name) == 0)
            return a->children && a->children->content ? (const char *)a->children->content : "";
    }
    return NULL;
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
static enum hop_status check_sets(const char *name, const xmlNode *element, bool with_cores, struct hop_diag *diag)
{
    static const char *const sets[] = {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"};
    for (size_t i = 0; i < HOP_COUNT(sets); i++) {
        const char *set = attribute(element, sets[i]);
        if (with_cores && (!set || !*set))
            return refuse(name, element, "an object lacks one of its sets",
                          "cpuset, complete_cpuset, nodeset and complete_nodeset", diag);
        if (!with_cores && set)
            return refuse(name, element, "an I/O or Misc object has a set", "no cpuset and no nodeset", diag);
    }
    return HOP_OK;
}

static bool has_cores(const xmlNode *element)
{
    static const char *const memory[] = {"NUMANode", "MemCache"};
    const char *type = attribute(element, "type");
    return element->type == XML_ELEMENT_NODE && attribute(element, "complete_cpuset") && type &&
           !is_one_of(type, memory, HOP_COUNT(memory));
}

/* A PU or NUMA node that is not in its own set is dropped, and without any libhwloc prints that it aborts. */
static enum hop_status check_index(const char *name, const xmlNode *element, const char *set, struct hop_diag *diag)
{
    const char *index = attribute(element, "os_index");
    enum hop_status status = HOP_OK;
    if (!index || !isdigit((unsigned char)*index) || strtoul(index, NULL, 10) >= INDEX_LIMIT)
        return refuse(name, element, "no os_index, or too large a one", "0 to 1048575", diag);
    hwloc_bitmap_t own = hwloc_bitmap_alloc();
    if (!own)
        return hop_fail_memory(diag);
    if (hwloc_bitmap_sscanf(own, set) != 0 || !hwloc_bitmap_isset(own, (unsigned)strtoul(index, NULL, 10)))
        status = refuse(name, element, "an object's set does not hold its os_index",
                        "cpuset of a PU, nodeset of a NUMANode", diag);
    hwloc_bitmap_free(own);
    return status;
}

/* Siblings with cores go by their first core; libhwloc would print a banner and sort them. */
static enum hop_status check_order(const char *name, const xmlNode *element, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    const xmlNode *before = has_cores(element) ? element->prev : NULL;
    while (before && !has_cores(before))
        before = before->prev;
    if (!before)
        return HOP_OK;
    hwloc_bitmap_t first = hwloc_bitmap_alloc(), second = hwloc_bitmap_alloc();
    if (!first || !second)
        status = hop_fail_memory(diag);
    else if (hwloc_bitmap_sscanf(first, attribute(before, "complete_cpuset")) != 0 ||
             hwloc_bitmap_sscanf(second, attribute(element, "complete_cpuset")) != 0)
        status = refuse(name, element, "a set is malformed", "hexadecimal words, as in 0x00000003", diag);
    else if (hwloc_bitmap_compare_first(second, first) < 0)
        status = refuse(name, element, "objects are out of order", "siblings in the order of their first cores", diag);
    hwloc_bitmap_free(first);
    hwloc_bitmap_free(second);
    return status;
}

/* libhwloc indexes tables by the type, takes attributes before it for granted, and sizes sets by the highest index. */
static enum hop_status check_object(const char *name, const xmlNode *element, struct hop_diag *diag)
{
    static const char *const cored[] = {"Machine",  "Package", "Die",      "Core",    "PU",       "L1Cache",
                                        "L2Cache",  "L3Cache", "L4Cache",  "L5Cache", "L1iCache", "L2iCache",
                                        "L3iCache", "Group",   "NUMANode", "MemCache"};
    static const char *const special[] = {"Bridge", "PCIDev", "OSDev", "Misc"};
    const xmlAttr *first = element->properties;
    const char *type = attribute(element, "type");
    const char *bridge = attribute(element, "bridge_type");
    bool with_cores = type && is_one_of(type, cored, HOP_COUNT(cored));
    if (!first || strcmp((const char *)first->name, "type") != 0)
        return refuse(name, element, "an object does not begin with its type", "<object type=\"...\" ...>", diag);
    if (!with_cores && !is_one_of(type, special, HOP_COUNT(special)))
        return refuse(name, element, "an object of no known type",
                      "Machine, Package, NUMANode, PU, Bridge, PCIDev, ...", diag);
    if ((strcmp((const char *)element->parent->name, "topology") == 0) != (strcmp(type, "Machine") == 0))
        return refuse(name, element, "the outermost object, and no other, is the machine",
                      "<object type=\"Machine\" ...>", diag);
    if (strcmp(type, "Bridge") == 0 && (!bridge || (strcmp(bridge, "0-1") != 0 && strcmp(bridge, "1-1") != 0)))
        return refuse(name, element, "a bridge of no known type", "bridge_type=\"0-1\" or \"1-1\"", diag);
    enum hop_status status = check_sets(name, element, with_cores, diag);
    if (status == HOP_OK && strcmp(type, "PU") == 0)
        status = check_index(name, element, attribute(element, "cpuset"), diag);
    if (status == HOP_OK && strcmp(type, "NUMANode") == 0)
        status = check_index(name, element, attribute(element, "nodeset"), diag);
    return status == HOP_OK ? check_order(name, element, diag) : status;
}

/* What else an object may hold comes before the objects in it. */
static enum hop_status check_part(const char *name, const xmlNode *element, struct hop_diag *diag)
{
    static const char *const parts[] = {"info", "page_type", "userdata"};
    if (!is_one_of((const char *)element->name, parts, HOP_COUNT(parts)))
        return refuse(name, element, "an object holds something else than objects", "<info>, <page_type> or <object>",
                      diag);
    const char *owner = attribute(element->parent, "type");
    if (strcmp((const char *)element->name, "page_type") == 0 && strcmp(owner, "NUMANode") != 0 &&
        strcmp(owner, "Machine") != 0)
        return refuse(name, element, "page sizes in an object that is no memory", "them in a NUMANode", diag);
    const xmlNode *before = element->prev;
    while (before && before->type != XML_ELEMENT_NODE)
        before = before->prev;
    if (before && strcmp((const char *)before->name, "object") == 0)
        return refuse(name, element, "this comes after an object", "the objects last", diag);
    return HOP_OK;
}

/* libhwloc multiplies the number of objects in 32 bits. */
static enum hop_status check_matrix(const char *name, const xmlNode *element, struct hop_diag *diag)
{
    const char *objects = attribute(element, "nbobjs");
    if (objects && strtoul(objects, NULL, 10) > MATRIX_LIMIT)
        return refuse(name, element, "a matrix of too many objects", "at most 4096", diag);
    return HOP_OK;
}

/* Attributes that name sets, whatever the element: cpuset, allowed_nodeset, ... Each comma separates 32 bits, so the
 * length bounds the set. */
static enum hop_status check_bitmaps(const char *name, const xmlNode *element, struct hop_diag *diag)
{
    for (const xmlAttr *at = element->properties; at; at = at->next) {
        const char *key = (const char *)at->name, *value = attribute(element, key);
        size_t length = strlen(key);
        if (length >= 3 && strcmp(key + length - 3, "set") == 0 && value &&
            (strlen(value) > SET_LIMIT || !is_bitmap(value)))
            return refuse(name, element, "a set is malformed or too large", "hexadecimal words, as in 0x00000003",
                          diag);
    }
    return HOP_OK;
}

static enum hop_status check_element(const char *name, const xmlNode *element, struct hop_diag *diag)
{
    const char *tag = (const char *)element->name;
    enum hop_status status = check_bitmaps(name, element, diag);
    if (status != HOP_OK)
        return status;
    if (strcmp(tag, "object") == 0)
        return check_object(name, element, diag);
    if (strcmp((const char *)element->parent->name, "object") == 0)
        return check_part(name, element, diag);
    return strncmp(tag, "distances", 9) == 0 ? check_matrix(name, element, diag) : HOP_OK;
}

static bool is_object(const xmlNode *element, const char *type)
{
    const char *own = attribute(element, "type");
    return strcmp((const char *)element->name, "object") == 0 && own && strcmp(own, type) == 0;
}

/* Every element in document order; libxml2 has bounded the depth. */
static enum hop_status check_elements(const char *name, xmlNode *root, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    bool cores = false, memory = false;
    unsigned objects = 0, elements = 0;
    xmlNode *at = root;
    while (at && status == HOP_OK) {
        if (at->type == XML_ELEMENT_NODE && at != root) {
            objects += strcmp((const char *)at->name, "object") == 0;
            if (objects > OBJECT_LIMIT || ++elements > ELEMENT_LIMIT)
                status =
                    refuse(name, at, "the topology is too large", "at most 16384 objects and 65536 elements", diag);
            else
                status = check_element(name, at, diag);
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
    if (status == HOP_OK && !(cores && memory))
        status = refuse(name, root, "there is no PU, or no NUMANode", "at least one of each", diag);
    return status;
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
    enum hop_status status = HOP_ERR_SYNTAX;
    xmlParserCtxt *parser = xmlNewParserCtxt();
    if (!parser)
        return hop_fail_memory(diag);
    xmlDoc *document = xmlCtxtReadMemory(parser, source->text, (int)source->size, source->name, NULL,
                                         XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    xmlNode *root = document ? xmlDocGetRootElement(document) : NULL;
    if (!root) {
        const char *message = parser->lastError.message ? parser->lastError.message : "no XML document";
        hop_fail(diag, status, "%.*s", (int)strcspn(message, "\n"), message);
        hop_diag_place(diag, "%.150s:%d:%d", source->name, parser->lastError.line, parser->lastError.int2);
        hop_diag_expect(diag, "well-formed XML; was the file cut off?");
    } else if (document->intSubset && document->intSubset->children) {
        status = refuse(source->name, root, "the document declares entities or elements of its own", "plain hwloc XML",
                        diag);
    } else if (!attribute(root, "version") || strtoul(attribute(root, "version"), NULL, 10) < 2) {
        status = refuse(source->name, root, "the topology is of hwloc 1",
                        "version=\"2.0\"; `lstopo -i OLD.xml NEW.xml` converts", diag);
    } else {
        status = check_elements(source->name, root, diag);
    }
    if (status == HOP_OK) {
        drop_comments(document->children);
        xmlDocDumpMemoryEnc(document, text, size, "UTF-8");
        if (!*text)
            status = hop_fail_memory(diag);
    }
    xmlFreeDoc(document);
    xmlFreeParserCtxt(parser);
    return status;
}

enum hop_status hop_hwloc_open_xml(const struct hop_source *source, struct hop_hwloc *hwloc, struct hop_diag *diag)
{
    xmlChar *text = NULL;
    int size = 0;
    if (source->size >= XML_LIMIT) {
        hop_fail(diag, HOP_ERR_LIMIT, "the hwloc XML has %zu bytes", source->size);
        hop_diag_place(diag, "%.150s", source->name);
        hop_diag_expect(diag, "less than %zu", XML_LIMIT);
        return HOP_ERR_LIMIT;
    }
    enum hop_status status = check_document(source, &text, &size, diag);
    if (status != HOP_OK)
        return status;
    status = hop_hwloc_begin(hwloc, diag);
    if (status == HOP_OK && (hwloc_topology_set_xmlbuffer(hwloc->machine, (const char *)text, size + 1) != 0 ||
                             hwloc_topology_load(hwloc->machine) != 0)) {
        hop_hwloc_close(hwloc);
        status = hop_fail(diag, HOP_ERR_INVALID, "libhwloc refuses this topology");
        hop_diag_place(diag, "%.150s", source->name);
        hop_diag_expect(diag, "hwloc XML with its cpusets and nodesets; a newer hwloc writes older XML by "
                              "`lstopo --export-xml-flags v2 FILE.xml`");
    }
    xmlFree(text);
    return status;
}

#endif
