/** The way to traces: OpenTelemetry is loaded by those alone who want it. */
import type { Tracing, TracingSettings } from "./tracing.ts";

export async function openTracingIfConfigured(
  settings: TracingSettings | null,
): Promise<Tracing | undefined> {
  if (settings === null) return undefined;
  const { openTracing } = await import("./sdk.ts");
  return openTracing(settings);
}
