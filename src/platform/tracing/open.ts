/** Loads OpenTelemetry only if tracing is configured. */
import type { Tracing, TracingSettings } from "./tracing.ts";

/** Opens tracing, or returns undefined if `settings` is null. */
export async function openTracingIfConfigured(
  settings: TracingSettings | null,
): Promise<Tracing | undefined> {
  if (settings === null) return undefined;
  const { openTracing } = await import("./sdk.ts");
  return openTracing(settings);
}
