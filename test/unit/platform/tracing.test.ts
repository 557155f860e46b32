/** The parts of tracing that are pure, and what it does where the collector is not there, or does not answer. */
import { describe, expect, it } from "vitest";
import { toConfig } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { parseOtlpHeaders } from "../../../src/platform/tracing/otlp-headers.ts";
import { parseTraceparent } from "../../../src/platform/tracing/traceparent.ts";
import { describeStatement } from "../../../src/platform/tracing/sql-summary.ts";
import type { Tracing } from "../../../src/platform/tracing/tracing.ts";
import { freePort } from "../../support/free-port.ts";
import { startTraceCollector, openTracingTo } from "../../support/trace-collector.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("a traceparent", () => {
  it("is read as W3C has it", () => {
    const ids = { traceId: TRACE, spanId: SPAN };
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ ...ids, traceFlags: 1 });
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-00`)).toEqual({ ...ids, traceFlags: 0 });
  });

  it.each([
    ["nothing", ""],
    ["no flags", `00-${TRACE}-${SPAN}`],
    ["a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["another version", `ff-${TRACE}-${SPAN}-01`],
    ["capitals", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["two of them", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ["a line more", `00-${TRACE}-${SPAN}-01\n`],
    ["very much", `00-${TRACE.repeat(500)}-${SPAN}-01`],
  ])("is none with %s", (_, text) => {
    expect(parseTraceparent(text)).toBeNull();
  });
});

describe("the collector's headers", () => {
  it("are names and percent-encoded values", () => {
    expect(parseOtlpHeaders("")).toEqual({});
    expect(parseOtlpHeaders("Authorization=Basic%20a2V5Og==, x-tenant=a%2Cb")).toEqual({
      authorization: "Basic a2V5Og==",
      "x-tenant": "a,b",
    });
  });

  it.each(["secret", "=secret", "a b=secret", "x-key=%zz", "x-key=a%0d%0ax: y"])("are none in %j", (text) => {
    expect(parseOtlpHeaders(text)).toBeNull();
  });
});

describe("a statement", () => {
  it.each([
    ["select 1", "SELECT"],
    ["select name from job join organization on true where name = $1", "SELECT job organization"],
    ["select * from unnest($1::text[]) given where id is distinct from other", "SELECT"],
    [
      "with due as materialized (\n  select id from mail for update skip locked\n)\n  select * from due",
      "SELECT mail",
    ],
    ["with gone as (delete from mail returning 1) select count(*) from gone", "DELETE mail"],
    [
      "insert into job (id) values ($1) on conflict (id) do update set id = excluded.id -- update job set x",
      "INSERT job",
    ],
    ["update job set weight = $1 where extract(epoch from updated_at) > 1", "UPDATE job"],
  ])("is called by what it does: %j", (text, name) => {
    expect(describeStatement(text)).toMatchObject({ name, attributes: { "db.query.summary": name } });
  });

  it("is told of to a certain length, without its comments", () => {
    const { attributes } = describeStatement(`select 1 -- why\n, ${"x".repeat(10_000)}`);
    expect(String(attributes["db.query.text"])).toMatch(/^select 1 , x+…$/);
    expect(String(attributes["db.query.text"]).length).toBeLessThan(2_100);
  });
});

const tracingOf = (env: Record<string, string>) => toConfig(readEnv(env)).tracing;

describe("the settings", () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = "http://collector:4318/";

  it("leave traces off where no collector is named, whatever else is said", () => {
    expect(tracingOf({ OTEL_TRACES_SAMPLER: "always_on", OTEL_SERVICE_NAME: "x" })).toBeNull();
  });

  it("name the place for traces by a base, or whole", () => {
    const whole = "https://traces.example.com/in?team=1";
    expect(tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT })?.url).toBe("http://collector:4318/v1/traces");
    const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = whole;
    expect(tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT })?.url).toBe(whole);
  });

  it.each([
    [{}, 1],
    [{ OTEL_TRACES_SAMPLER_ARG: "0.25" }, 0.25],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.5" }, 0.5],
    [{ OTEL_TRACES_SAMPLER: "parentbased_always_on", OTEL_TRACES_SAMPLER_ARG: "0.5" }, 1],
    [{ OTEL_TRACES_SAMPLER: "always_off" }, 0],
  ])("say which part is kept: %j", (env, ratio) => {
    expect(tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT, ...env })?.ratio).toBe(ratio);
  });

  it("are never told where they may be secret", () => {
    const headers = { OTEL_EXPORTER_OTLP_HEADERS: "x-key: hush-hush" };
    expect(() => readEnv(headers)).toThrow(/OTEL_EXPORTER_OTLP_HEADERS: (?!.*hush)/);
  });
});

/** So many spans, all of one trace. */
function createSpans(tracing: Tracing, count: number): void {
  const root = tracing.startTrace("root", { kind: "internal" });
  root?.run(() => {
    for (let made = 1; made < count; made += 1) tracing.startSpan("span", { kind: "internal" })?.end();
  });
  root?.end();
}

describe("a span", () => {
  it("of a trace that is not kept is none, whatever a stranger's traceparent says", async () => {
    await using collector = await startTraceCollector();
    await using tracing = openTracingTo(collector, "test", 0);
    const start = { kind: "server", linkedTraceparent: `00-${TRACE}-${SPAN}-01` } as const;
    expect(tracing.startTrace("request", start)).toBeNull();
    expect(tracing.continueTrace(`00-${TRACE}-${SPAN}-00`, "delivery", { kind: "consumer" })).toBeNull();
    expect(tracing.continueTrace(null, "delivery", { kind: "consumer" })).toBeNull();
  });

  it("is below nothing that is over: what a request has set going is not its trace for ever", async () => {
    await using collector = await startTraceCollector();
    await using tracing = openTracingTo(collector, "test");
    const request = tracing.startTrace("request", { kind: "server" });
    const { promise, resolve } = Promise.withResolvers<void>();
    const loop = request?.run(async () => {
      await promise;
      return [tracing.startSpan("SQL", { kind: "client" }), tracing.currentIds()];
    });
    request?.end();
    resolve();
    expect(await loop).toEqual([null, null]);
  });

  it("that is still waiting when the process stops is sent", async () => {
    await using collector = await startTraceCollector();
    const tracing = openTracingTo(collector, "test");
    createSpans(tracing, 1_200);
    await tracing[Symbol.asyncDispose]();
    expect(collector.spans()).toHaveLength(1_200);
    expect(tracing.counts()).toEqual({ exported: 1_200, dropped: 0 });
  });
});

describe("a collector", () => {
  it.concurrent("that never answers costs a bounded number of spans, one line of the log and no wait at a stop", async () => {
    await using collector = await startTraceCollector();
    collector.status = null;
    const tracing = openTracingTo(collector, "test");
    const told: [string, number][] = [];
    tracing.onDrop((...loss) => told.push(loss));
    for (let round = 0; round < 20; round += 1) createSpans(tracing, 500);
    expect(tracing.counts().dropped).toBeGreaterThan(5_000);
    await tracing[Symbol.asyncDispose]();
    // One batch is on its way, and nobody knows what becomes of it.
    expect(tracing.counts()).toEqual({ exported: 0, dropped: 10_000 - 512 });
    expect(told).toEqual([["queue full", 1]]);
  });

  it.concurrent("that is not there loses what it would have been sent, and nothing else", async () => {
    const tracing = openTracingTo({ url: `http://127.0.0.1:${await freePort()}` }, "test");
    createSpans(tracing, 10);
    await tracing[Symbol.asyncDispose]();
    expect(tracing.counts()).toMatchObject({ exported: 0 });
  });
});
