/**
 * Loaded into each process before the product (`--import`): what a full collection leaves of the heap, one line each in a
 * file of SOAK_HEAP_FOLDER that is named by its process. /metrics shows the heap with its garbage, from which no leak can
 * be told within minutes. Where V8 has collected nothing for two minutes, it is made to.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { constants, PerformanceObserver, type PerformanceEntry } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type Collection = PerformanceEntry & { detail: { kind: number } };

const COLLECT_AFTER_MS = 120_000;
/** New objects that have come since the collection are none of what it left. */
const YOUNG_SPACES = new Set(["new_space", "new_large_object_space"]);

function recordHeapTo(file: string): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const timer = setTimeout(collect, COLLECT_AFTER_MS);
  // A command that has done its work must end.
  timer.unref();
  const observer = new PerformanceObserver((list) => {
    const isFull = list
      .getEntries()
      .some((entry) => (entry as Collection).detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR);
    if (!isFull) return;
    timer.refresh();
    const bytes = getHeapSpaceStatistics()
      .filter(({ space_name: name }) => !YOUNG_SPACES.has(name))
      .reduce((sum, { space_used_size: used }) => sum + used, 0);
    appendFileSync(file, `${JSON.stringify({ atMs: Date.now(), mb: bytes / 1024 ** 2 })}\n`);
  });
  observer.observe({ entryTypes: ["gc"] });
}

const folder = process.env["SOAK_HEAP_FOLDER"];
if (folder !== undefined) recordHeapTo(join(folder, String(process.pid)));
