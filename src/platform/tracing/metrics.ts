/** A metric of exported and dropped spans, and a log line when spans are dropped. */
import { Counter, type Registry } from "prom-client";
import type { Logger } from "../logger.ts";
import type { Tracing } from "./tracing.ts";

export function registerTracingMetrics(
  tracing: Tracing,
  { registry, logger }: { registry: Registry; logger: Logger },
): void {
  const spans = new Counter({
    name: "waymark_trace_spans_total",
    help: "Spans accepted by the collector (exported), and spans that were lost (dropped)",
    labelNames: ["outcome"] as const,
    registers: [registry],
    collect() {
      const { exported, dropped } = tracing.counts();
      spans.reset();
      spans.inc({ outcome: "exported" }, exported);
      spans.inc({ outcome: "dropped" }, dropped);
    },
  });
  tracing.onDrop((reason, lost) => {
    logger.warn({ reason, lost }, "spans were dropped before they reached the trace collector");
  });
}
