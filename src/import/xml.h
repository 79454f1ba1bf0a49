/* SPDX-License-Identifier: BSD-3-Clause */
/* What readers of XML share. */
#ifndef HOP_IMPORT_XML_H
#define HOP_IMPORT_XML_H

#include <libxml/tree.h>
#include <stdbool.h>

#include "base/base.h"

/* Whether the document type, or behind declarations and comments the root element, has that name. A cheap look. */
bool hop_xml_begins(const char *text, const char *name);
/* A well-formed document, which the caller frees by xmlFreeDoc. NULL: a failure with its place. */
xmlDoc *hop_xml_parse(const struct hop_source *source, struct hop_failure *failure);
/* The text of an attribute, NULL: it is not there. A document without entities keeps it in a single text node. */
const char *hop_xml_attribute(const xmlNode *element, const char *name);

#endif
