/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything. */
#ifndef HOPCAST_HOPCAST_H
#define HOPCAST_HOPCAST_H

#include "hopcast/amb.h"
#include "hopcast/apenet.h"
#include "hopcast/calibrate.h"
#include "hopcast/collective.h"
#include "hopcast/compare.h"
#include "hopcast/device.h"
#include "hopcast/element.h"
#include "hopcast/gain.h"
#include "hopcast/group.h"
#include "hopcast/lint.h"
#include "hopcast/map.h"
#include "hopcast/measure.h"
#include "hopcast/measurements.h"
#include "hopcast/model.h"
#include "hopcast/order.h"
#include "hopcast/pattern.h"
#include "hopcast/placement.h"
#include "hopcast/plan.h"
#include "hopcast/report.h"
#include "hopcast/run.h"
#include "hopcast/schedule.h"
#include "hopcast/simulate.h"
#include "hopcast/status.h"
#include "hopcast/sweep.h"
#include "hopcast/timeline.h"
#include "hopcast/topology.h"
#include "hopcast/trace.h"
#include "hopcast/traffic.h"
#include "hopcast/tune.h"
#include "hopcast/uncertainty.h"
#include "hopcast/units.h"

#endif
