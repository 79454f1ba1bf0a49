/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at XML. */
#include "import/xml.h"

#include <string.h>

/* Where "<!DOCTYPE ... [ ... ]>" or its plain form ends, NULL when it does not. */
static const char *after_declaration(const char *at)
{
    const char *end = strpbrk(at, "[>");
    return end && *end == '[' ? strstr(end, "]>") : end;
}

static bool is_name(const char *at, const char *name)
{
    size_t length = strlen(name);
    return strncmp(at, name, length) == 0 && at[length] && strchr(" \t\r\n/>[", at[length]);
}

bool hop_xml_begins(const char *text, const char *name)
{
    const char *at = text + (strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (strncmp(at, "<!--", 4) == 0)
            at = strstr(at, "-->");
        else if (strncmp(at, "<?", 2) == 0)
            at = strstr(at, "?>");
        else if (strncmp(at, "<!DOCTYPE ", 10) == 0 && is_name(at + 10, name))
            return true;
        else if (strncmp(at, "<!", 2) == 0)
            at = after_declaration(at);
        else
            break;
        if (!at)
            return false;
        at = strchr(at, '>') + 1;
    }
    return *at == '<' && is_name(at + 1, name);
}

const char *hop_xml_attribute(const xmlNode *element, const char *name)
{
    for (const xmlAttr *a = element->properties; a; a = a->next) {
        if (strcmp((const char *)a->name, name) == 0)
            return a->children && a->children->content ? (const char *)a->children->content : "";
    }
    return NULL;
}
