/**
 * Preloaded into each Waymark process (`--import`): after each full garbage collection it appends the heap size to a file in
 * SOAK_HEAP_FOLDER named by the process id. The heap size in /metrics includes garbage, which hides a leak for a long time. If V8
 * collects nothing for two minutes, the probe forces a collection.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { constants, PerformanceObserver, type PerformanceEntry } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type Collection = PerformanceEntry & { detail: { kind: number } };

const COLLECT_AFTER_MS = 120_000;
/** Objects allocated after the collection are in these spaces and do not count. */
const YOUNG_SPACES = new Set(["new_space", "new_large_object_space"]);

function recordHeapTo(file: string): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const timer = setTimeout(collect, COLLECT_AFTER_MS);
  // The timer must not keep a short command running.
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
