import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { LoadSheddingMetrics } from "../../../src/api/load-shedding/metrics.ts";
import { createLogger } from "../../../src/core/logger.ts";

it("logs the start of an overload once, and its end 10 s after the last rejection", () => {
  const log: { msg: string; rejected?: number; duration_ms?: number }[] = [];
  const logger = createLogger("info", { write: (line: string) => void log.push(JSON.parse(line)) });
  const metrics = new LoadSheddingMetrics({ inFlight: 4, limit: 4 }, { logger, registry: new Registry() });
  metrics.onReject(1_000);
  metrics.onReject(3_500);
  metrics.logIfOver(13_499);
  expect(metrics.isOverloadLogged).toBe(true);
  metrics.logIfOver(13_500);
  expect(metrics.isOverloadLogged).toBe(false);
  expect(log).toMatchObject([
    { msg: "overloaded: rejecting requests", in_flight: 4, limit: 4 },
    { msg: "no longer overloaded", rejected: 2, duration_ms: 2_500 },
  ]);
});
