/** What becomes of spans, for those who run the service: a figure, and now and then a line of the log. */
import { Counter, type Registry } from "prom-client";
import type { Logger } from "../logger.ts";
import type { Tracing } from "./tracing.ts";

export function registerTracingMetrics(
  tracing: Tracing,
  { registry, logger }: { registry: Registry; logger: Logger },
): void {
  const spans = new Counter({
    name: "waymark_trace_spans_total",
    help: "Spans that the collector took (exported), and those that were lost (dropped)",
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
    logger.warn({ reason, lost }, "spans were lost on their way to the collector of traces");
  });
}
