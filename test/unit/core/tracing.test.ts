/** Parsing of tracing, and its behaviour with an unreachable or unresponsive collector. */
import type { Span } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { createLogger } from "../../../src/core/logger.ts";
import {
  describeStatement,
  continueTrace,
  parseTraceparent,
  runInSpan,
  startSpan,
  startTrace,
  traceFields,
  type Tracing,
} from "../../../src/core/tracing/tracing.ts";
import { startTraceCollector, openTracingTo } from "../../support/trace-collector.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("parseTraceparent", () => {
  it("parses a W3C traceparent of version 00", () => {
    const parsed = { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true };
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual(parsed);
  });

  it.each([
    ["missing flags", `00-${TRACE}-${SPAN}`],
    ["a trace id of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["a span id of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["another version", `ff-${TRACE}-${SPAN}-01`],
    ["two values", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ["a trailing line break", `00-${TRACE}-${SPAN}-01\n`],
  ])("returns null for %s", (_, text) => {
    expect(parseTraceparent(text)).toBeNull();
  });
});

describe("describeStatement", () => {
  it.each([
    ["select name from job join organization on true where name = $1", "SELECT job"],
    ["select * from unnest($1::text[]) given where id is distinct from other", "SELECT"],
    [
      "with due as materialized (\n  select id from mail for update skip locked\n)\n  select * from due",
      "SELECT mail",
    ],
    ["with gone as (delete from mail returning 1) select count(*) from gone", "DELETE mail"],
    ["insert into job (id) values ($1) on conflict (id) do update set id = excluded.id", "INSERT job"],
  ])("names the first change or read table of %j", (text, name) => {
    expect(describeStatement(text)).toMatchObject({ name, attributes: { "db.query.summary": name } });
  });

  it("replaces values", () => {
    const text = `select "u0"."id" from "user_account" as "u0"
      where "u0"."email" = 'o''hara@a.example' and "u0"."name" = $1 limit 21`;
    const masked = "select u0.id from user_account as u0 where u0.email = ? and u0.name = $1 limit ?";
    expect(describeStatement(text).attributes["db.query.text"]).toBe(masked);
  });
});

/** Creates `count` spans of one trace. */
function createSpans(count: number): void {
  const root = startTrace("root") as Span;
  runInSpan(root, () => {
    for (let created = 1; created < count; created += 1) startSpan("span")?.end();
  });
  root.end();
}

async function countSpans({ spanCounter }: Tracing): Promise<Record<string, number>> {
  const { values } = await spanCounter.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]));
}

describe("a span", () => {
  it("is null without a collector", () => {
    expect(startTrace("request")).toBeNull();
    expect(startSpan("SQL")).toBeNull();
    expect(continueTrace(`00-${TRACE}-${SPAN}-01`, "delivery", {})).toBeNull();
    expect(traceFields()).toEqual({});
  });

  it("is null if its trace is not sampled", async () => {
    await using collector = await startTraceCollector();
    await using tracing = openTracingTo(collector, { ratio: 0 });
    expect(startTrace("request")).toBeNull();
    expect(continueTrace(`00-${TRACE}-${SPAN}-00`, "delivery", {})).toBeNull();
    expect(continueTrace(null, "delivery", {})).toBeNull();
    expect(await countSpans(tracing)).toEqual({ exported: 0, dropped: 0 });
  });

  it("is null after its request has ended", async () => {
    await using collector = await startTraceCollector();
    const tracing = openTracingTo(collector);
    const request = startTrace("request") as Span;
    const { promise, resolve } = Promise.withResolvers<void>();
    const loop = runInSpan(request, async () => {
      await promise;
      return [startSpan("SQL"), traceFields()];
    });
    request.end();
    resolve();
    expect(await loop).toEqual([null, {}]);
    await tracing[Symbol.asyncDispose]();
    expect(collector.spans().map(({ name }) => name)).toEqual(["request"]);
  });
});

describe("a collector", () => {
  it("that never answers causes dropped spans, one report and no long wait at disposal", async () => {
    await using collector = await startTraceCollector();
    collector.status = null;
    const reports: string[] = [];
    const logger = createLogger("warn", { write: (line) => void reports.push(line) });
    const tracing = openTracingTo(collector, { logger });
    for (let round = 0; round < 20; round += 1) createSpans(500);
    expect((await countSpans(tracing))["dropped"]).toBeGreaterThan(5_000);
    await tracing[Symbol.asyncDispose]();
    // The batch in flight and the 4,096 queued spans are neither exported nor dropped.
    expect(await countSpans(tracing)).toEqual({ exported: 0, dropped: 10_000 - 512 - 4_096 });
    expect(reports.map((line) => JSON.parse(line) as object)).toMatchObject([
      { reason: "queue full", lost: 1 },
    ]);
  });

  it("that is unreachable gets no spans and causes no error", async () => {
    const tracing = openTracingTo({ url: "http://127.0.0.1:9" });
    createSpans(10);
    await tracing[Symbol.asyncDispose]();
    expect(await countSpans(tracing)).toMatchObject({ exported: 0 });
  });
});
