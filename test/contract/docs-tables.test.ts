/** Compares the tables of the guide with the code. */
import { describe, expect, it } from "vitest";
import { scopes } from "../../src/api-keys/entity.ts";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { eventTypes } from "../../src/events/api.ts";
import { sortFields } from "../../src/jobs/list/operations.ts";
import { jobFieldNames } from "../../src/jobs/fields.ts";
import type { TokenRate } from "../../src/core/concurrency/token-bucket.ts";
import { systemClock } from "../../src/core/clock.ts";
import { errorHeadings } from "../../src/guide/error-sections.ts";
import { SAMPLE_BASE_URL } from "../../src/guide/api.ts";
import { errorCodes, statusOf } from "../../src/core/errors.ts";
import { createMemoryStore } from "../../src/rate-limits/store.ts";
import {
  defaultRateLimits,
  organizationLimit,
  takeTokens,
  type RateLimitClass,
} from "../../src/rate-limits/rate-limit.ts";
import { PING_TYPE } from "../../src/webhooks/deliveries/view.ts";
import { Sender } from "../../src/webhooks/dispatcher/sign-and-send.ts";
import { newSecret } from "../../src/webhooks/signing/secrets.ts";
import { contract } from "../support/app/openapi-contract.ts";
import { read } from "../support/docs/facts.ts";
import { codeBlocks, guidePages, readPage, tableRows } from "../support/docs/guide-pages.ts";

const jobs = readPage("guide/jobs.md");

/** Returns the first column of a table; a cell can list several names. */
function firstColumn(page: string, head: string): string[] {
  return tableRows(readPage(page), head).flatMap(([cell = ""]) => cell.split(", "));
}

/** Returns the text between a heading and the next one of the same level. */
function sectionOf(page: string, heading: string): string {
  return page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
}

interface FieldSchema {
  type?: string | string[];
  /** Of an object that may be null. */
  oneOf?: unknown;
  format?: string;
  maxLength?: number;
  minimum?: number;
}

/** Describes a schema as the table of fields does: `string or null, at most 120`. */
function describeType({ type, format, maxLength, minimum, oneOf }: FieldSchema): string {
  if (type === undefined) return oneOf ? "object or null" : "object";
  const [name = "", none] = [type].flat();
  const formats: Readonly<Record<string, string>> = { date: "date", "date-time": "datetime" };
  return [
    (formats[format ?? ""] ?? name) + (none === "null" ? " or null" : ""),
    ...(maxLength === undefined ? [] : [`at most ${maxLength.toLocaleString("en")}`]),
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
  ].join(", ");
}

describe("the guide on jobs", () => {
  it("has the type and the limit of each field, and says which can be edited", () => {
    const { properties = {} } = contract.components.schemas["Job"] ?? {};
    const editable = new Set<string>(jobFieldNames);
    const expected = Object.entries(properties).map(([name, schema]) => {
      // The column of a status is as long as a code; the guide lists the codes.
      const { maxLength, ...rest } = schema as FieldSchema;
      const isCode = name === "normalized_status";
      const type = describeType(isCode || maxLength === undefined ? rest : { ...rest, maxLength });
      return [name, type, editable.has(name) ? (isCode ? "yes, not null" : "yes") : "no"];
    });
    const rows = tableRows(jobs, "Field").map(([name, type = "", update]) => [
      name,
      type.replace(" characters", ""),
      update,
    ]);
    expect(rows).toEqual(expected.map(([name, type, update]) => [name, type, update]));
  });

  it("lists the filters and orders of the list", () => {
    const parameters = contract.paths["/v1/jobs"]?.get?.parameters ?? [];
    const paging = new Set(["page", "page_size", "cursor", "sort"]);
    const filters = parameters.map(({ name }) => name).filter((name) => !paging.has(name));
    expect(firstColumn("guide/jobs.md", "Parameter").toSorted()).toEqual(filters.toSorted());
    const [, orders = ""] = /`sort` takes (.*?)\. /.exec(jobs) ?? [];
    expect([...orders.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual([...sortFields]);
    expect(jobs).toContain("The default is `-created_at`.");
    expect(read("src/jobs/list/operations.ts")).toContain('DEFAULT_SORT = "-created_at"');
    for (const order of sortFields.flatMap((name) => [name, `-${name}`]))
      expect(firstColumn("guide/jobs.md", "Order")).toContain(order);
  });

  it("lists the status codes of a new installation by category", () => {
    const [, list = ""] =
      /const STATUSES = `\n([^`]+)`/.exec(read("src/migrations/20261123000000-initial.ts")) ?? [];
    const byCategory = Map.groupBy(
      list.split("\n").map((line) => line.split("|")),
      ([, , category = ""]) => category,
    );
    const expected = [...byCategory].map(([category, codes]) => [
      category,
      codes.map(([code]) => code).join(", "),
    ]);
    expect(expected.length).toBeGreaterThan(3);
    expect(tableRows(jobs, "Category")).toEqual(expected);
  });
});

/** Returns the example of the OpenAPI document, with the base URL of the guide's samples. */
function documentedError(code: string): unknown {
  const { content } = contract.components.responses[code.replace("Exception", "")] ?? {};
  const [example] = Object.values(content?.["application/json"]?.examples ?? {});
  const { error } = (example?.value ?? { error: { doc_url: "" } }) as { error: { doc_url: string } };
  return { ...error, doc_url: error.doc_url.replace("https://api.example.com", SAMPLE_BASE_URL) };
}

describe("the guide on errors", () => {
  const page = readPage("guide/errors.md");

  it("lists each code with its status", () => {
    const rows = tableRows(page, "Status").map(
      ([status, code]) => `${status} ${code?.replace(/^\[(\w+)\].*/, "$1")}`,
    );
    expect(rows).toEqual(errorCodes.map((code) => `${statusOf(code)} ${code}`));
    expect(readPage("guide/contract.md")).toContain("[Fourteen codes](errors.md)");
    expect(errorCodes).toHaveLength(14);
  });

  it("has the section that the doc_url of each code names", () => {
    const headings = new Set(page.split("\n").map((line) => line.replace(/^#+ /, "")));
    expect([...errorHeadings.values()].filter((heading) => !headings.has(heading))).toEqual([]);
  });

  it.each(errorCodes)("has the cause, the fix and an example of %s", (code) => {
    const section = sectionOf(page, `${code} (${statusOf(code)})`);
    expect(section.trim()).toMatch(/^\w/);
    expect(section).toContain("\n**Fix**: ");
    const example = codeBlocks(section).find(({ language }) => language === "json");
    const { error } = JSON.parse(example?.text ?? "{}") as { error?: { code: string } };
    expect(error?.code).toBe(code);
    // Another test compares a response with the output of the sample above it.
    expect(error).toEqual(example?.note === "response" ? error : documentedError(code));
  });
});

describe("the guide on authentication", () => {
  it("lists the scopes", () => {
    expect(firstColumn("guide/authentication.md", "Scope")).toEqual([...scopes]);
  });
});

const inWords = ({ perSecond, burst }: TokenRate): string => `${perSecond} per second, burst ${burst}`;

describe("the guide on limits", () => {
  const page = readPage("guide/limits.md");

  it("has the rate limits", () => {
    const { ORGANIZATION_RATE_LIMIT_FACTOR: factor } = readEnv({});
    const names: Record<RateLimitClass, string> = {
      read: "Reads",
      write: "Single updates",
      batch: "Batches",
    };
    const rows = Object.entries(defaultRateLimits).map(([kind, limit]) => [
      names[kind as RateLimitClass],
      kind,
      inWords(limit),
      inWords(organizationLimit(limit, kind as RateLimitClass, factor)),
    ]);
    expect(tableRows(page, "Requests")).toEqual(rows);
  });

  it("lists the headers of the rate limits", async () => {
    const sent = new Set<string>();
    await takeTokens(
      { store: createMemoryStore(systemClock), organizationFactor: 4 },
      { kind: "key", bucketKey: "a", partnerId: "b", rateLimits: null },
      { kind: "read" },
      (name) => void sent.add(name),
    );
    expect(sent.size).toBe(5);
    expect(new Set(firstColumn("guide/limits.md", "Header"))).toEqual(sent.add("Retry-After"));
  });

  it("and the other pages name each header that browsers may read", () => {
    const [, list = ""] = /const EXPOSED_HEADERS = \[([^\]]+)\]/.exec(read("src/api/express-app.ts")) ?? [];
    const headers = [...list.matchAll(/"([\w-]+)"/g)].map(([, name = ""]) => name);
    const text = guidePages.map(readPage).join("\n");
    expect(headers.length).toBeGreaterThan(8);
    expect(headers.filter((name) => !text.includes(`\`${name}\``) && !text.includes(`\`${name}:`))).toEqual(
      [],
    );
  });
});

describe("the guide on webhooks", () => {
  it("lists the event types", () => {
    const rows = firstColumn("guide/webhooks/events.md", "Event").map(
      (cell) => /\[([\w.]+)\]/.exec(cell)?.[1],
    );
    expect(new Set(rows)).toEqual(new Set([...eventTypes, PING_TYPE]));
  });

  it("lists the fields of an event", () => {
    const { properties = {} } = contract.components.schemas["Event"] ?? {};
    const { properties: data = {} } = properties["data"] as { properties?: object };
    const fields = Object.keys(properties).flatMap((name) =>
      name === "data" ? Object.keys(data).map((member) => `data.${member}`) : [name],
    );
    expect(firstColumn("guide/webhooks/events.md", "Field")).toEqual(fields);
  });

  it("lists the headers of a request", async () => {
    const sent: Record<string, string> = {};
    const post = (request: { headers: Record<string, string> }) => {
      Object.assign(sent, request.headers);
      return Promise.resolve({ kind: "response", status: 204, headers: {}, bodyText: "", durationMs: 1 });
    };
    const { docsUrl } = toConfig(readEnv({ PUBLIC_URL: "http://127.0.0.1:4000" })).webhooks;
    const sender = new Sender({ http: { post } as never, clock: { now: Date.now } as never, docsUrl });
    const endpoint = { url: "https://hooks.example.com/", headers: {}, secrets: [newSecret()] };
    await sender.send({ endpoint, webhookId: "evt_1", redelivery: "restore", body: "{}" });
    const rows = tableRows(readPage("guide/webhooks/quickstart.md"), "Header");
    expect(new Set(rows.map(([name]) => name))).toEqual(new Set(Object.keys(sent)));
    const content = Object.fromEntries(rows) as Record<string, string>;
    expect(content["content-type"]).toBe(sent["content-type"]);
    expect(content["user-agent"]?.startsWith(`${sent["user-agent"]}. `)).toBe(true);
    expect(content["webhook-redelivery"]).toContain(`${sent["webhook-redelivery"]}:`);
  });

  it("says how large a body is, and can be", () => {
    const page = readPage("guide/webhooks/quickstart.md");
    const [, ...sizes] = /usually ([\d.]+) to ([\d.]+) KiB, and never more than (\d+) KiB/.exec(page) ?? [];
    const [low = 0, high = 0, max = 0] = sizes.map((size) => Number(size) * 1024);
    const examples = codeBlocks(readPage("guide/webhooks/events.md"))
      .filter(({ language }) => language === "json")
      .map(({ text }) => JSON.stringify(JSON.parse(text)).length);
    expect(examples.length).toBeGreaterThan(3);
    expect(examples.filter((size) => size > high)).toEqual([]);
    expect(Math.max(...examples)).toBeGreaterThan(low);

    // A character takes at most 6 bytes: \\u001f. A text is in the job, and as old and new value in the changes.
    const { properties = {} } = contract.components.schemas["Job"] ?? {};
    const jobBytes = Object.entries(properties as Record<string, FieldSchema>)
      .map(([name, { maxLength = 255 }]) => name.length + 6 * maxLength)
      .reduce((sum, size) => sum + size, 0);
    expect(3 * jobBytes + 2 * 1024).toBeLessThan(max);
  });

  it("lists the statuses of a delivery", () => {
    const [, list = ""] =
      /status text not null default 'pending' check \(status in \(([^)]+)\)/.exec(
        read("src/migrations/20261123000000-initial.ts"),
      ) ?? [];
    const statuses = [...list.matchAll(/'(\w+)'/g)].map(([, status]) => status);
    expect(firstColumn("guide/webhooks/deliveries.md", "Status")).toEqual(statuses);
  });
});
