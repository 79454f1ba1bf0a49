/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at XML. */
#include "import/xml.h"

#include <errno.h>
#include <libxml/parser.h>
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

/* libxml2 prints what no one takes, memory that lacks whatever its options say. */
static void take(void *context, xmlError *error)
{
    (void)context, (void)error;
}

xmlDoc *hop_xml_parse(const struct hop_source *source, struct hop_failure *failure)
{
    errno = 0; /* which tells of memory that lacked, also where libxml2 says that something else is wrong */
    xmlStructuredErrorFunc taken = xmlStructuredError;
    void *taken_context = xmlStructuredErrorContext;
    xmlSetStructuredErrorFunc(NULL, take);
    xmlParserCtxt *parser = xmlNewParserCtxt();
    xmlDoc *document =
        parser ? xmlCtxtReadMemory(parser, source->text, (int)source->size, NULL, NULL,
                                   XML_PARSE_NONET | XML_PARSE_BIG_LINES)
               : NULL;
    const xmlError *error = parser && !document ? xmlCtxtGetLastError(parser) : NULL;
    const char *message = error && error->message ? error->message : "not well-formed";
    if (!parser || errno == ENOMEM) {
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
        xmlFreeDoc(document);
        document = NULL;
    } else if (!document && strstr(message, "depth")) { /* a limit of libxml2, whose words are for programmers */
        hop_failure_set(failure, HOP_ERR_LIMIT, "elements are nested too deep\nelements at most 256 deep");
    } else if (!document) {
        hop_failure_set(failure, HOP_ERR_SYNTAX, "malformed XML: %.*s\nwell-formed XML; was the file cut off?",
                        (int)strcspn(message, "\n"), message);
    }
    hop_failure_place(failure, "%.150s:%d:%d", source->name, error ? error->line : 1, error ? error->int2 : 1);
    xmlFreeParserCtxt(parser);
    xmlSetStructuredErrorFunc(taken_context, taken);
    return document;
}

const char *hop_xml_attribute(const xmlNode *element, const char *name)
{
    for (const xmlAttr *a = element->properties; a; a = a->next) {
        if (strcmp((const char *)a->name, name) == 0)
            return a->children && a->children->content ? (const char *)a->children->content : "";
    }
    return NULL;
}
