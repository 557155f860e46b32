/** The Postman collection: its format, its contents, and every request of it against a server. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildSite } from "../../support/site.ts";
import { ensureDemo } from "../../../src/embedded/demo/demo.ts";
import { createPostmanCollection } from "../../../src/http/docs/postman-collection.ts";
import { operationsOf } from "../../../src/http/v1/openapi/operations.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { eventually } from "../../support/eventually.ts";
import { apiDocument, expectToMatchContract, type Operation } from "../../support/app/openapi-contract.ts";

interface Pair {
  key: string;
  value: string;
  disabled?: true;
}
interface Item {
  name: string;
  request: {
    method: string;
    header: Pair[];
    url: { raw: string; host: string[]; path: string[]; query: Pair[]; variable: Pair[] };
    body?: { raw: string };
    description: string;
  };
  response: { name: string; code: number; body: string }[];
}
interface Collection {
  auth: { apikey: Pair[] };
  variable: Pair[];
  item: { name: string; item: Item[] }[];
}

const BASE_URL = "https://api.example.com/waymark";
/** Nothing listens there. */
const RECEIVER_URL = "http://127.0.0.1:9/webhooks";
const URL_PATH = "/docs/waymark.postman_collection.json";
const collection = JSON.parse(JSON.stringify(createPostmanCollection(BASE_URL))) as Collection;
const items = collection.item.flatMap((folder) => folder.item);

const text = { type: "string" };
const name = { type: "string", minLength: 1 };
const listOf = (schema: object) => ({ type: "array", items: schema });

/** An object with these properties and no others. `optional` names those that may be absent. */
function exactly(properties: Record<string, object>, optional: readonly string[] = []) {
  const required = Object.keys(properties).filter((key) => !optional.includes(key));
  return { type: "object", properties, required, additionalProperties: false };
}

const pairFormat = exactly({ key: name, value: text, description: text, disabled: { const: true } }, [
  "description",
  "disabled",
]);
const request = exactly(
  {
    method: { enum: ["GET", "POST", "PATCH", "DELETE"] },
    header: listOf(pairFormat),
    url: exactly({
      raw: name,
      host: { const: ["{{baseUrl}}"] },
      path: { type: "array", items: name, minItems: 2 },
      query: listOf(pairFormat),
      variable: listOf(pairFormat),
    }),
    body: exactly({
      mode: { const: "raw" },
      raw: name,
      options: { const: { raw: { language: "json" } } },
    }),
    description: name,
  },
  ["body"],
);
const savedResponse = exactly({
  name,
  originalRequest: request,
  status: { enum: ["OK", "Created"] },
  code: { enum: [200, 201] },
  header: listOf(pairFormat),
  body: name,
});
/** The part of Postman's format 2.1 that the collection uses: stricter than the format, and the same types. */
const format = exactly({
  info: exactly({
    name,
    description: name,
    schema: { const: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
  }),
  auth: exactly({
    type: { const: "apikey" },
    apikey: listOf(exactly({ key: name, value: name, type: { const: "string" } })),
  }),
  variable: listOf(pairFormat),
  item: listOf(
    exactly({
      name,
      description: text,
      item: { ...listOf(exactly({ name, request, response: listOf(savedResponse) })), minItems: 1 },
    }),
  ),
});

describe("the collection", () => {
  it("has Postman's format 2.1", () => {
    const validate = new Ajv({ strict: true, allErrors: true }).compile(format);
    validate(collection);
    expect(validate.errors ?? []).toEqual([]);
  });

  it("has a request for every operation, in a folder of its tag", () => {
    const operations = operationsOf<Operation>(apiDocument.paths).map(({ method, path, operation }) =>
      [operation.tags[0], method, `/v1${path.replaceAll(/\{(\w+)\}/g, ":$1")}`].join(" "),
    );
    const requests = collection.item.flatMap((folder) =>
      folder.item.map((item) =>
        [folder.name, item.request.method, `/${item.request.url.path.join("/")}`].join(" "),
      ),
    );
    expect(operations.length).toBeGreaterThan(0);
    expect(new Set(requests)).toEqual(new Set(operations));
    expect(new Set(items.map((item) => item.name)).size).toBe(items.length);
  });

  it("has the examples of every request body and response", () => {
    const documented = Object.values(apiDocument.paths).flatMap((item) =>
      Object.values(item).flatMap(({ requestBody, responses }) => {
        const ok = (responses["201"] ?? responses["200"]) as typeof requestBody;
        const examples = [requestBody, ok].flatMap((each) =>
          Object.values(each?.content["application/json"]?.examples ?? {}),
        );
        return examples.map(({ value }) => JSON.stringify(value));
      }),
    );
    const shown = items.flatMap(({ request: { body }, response: responses }) =>
      [...(body ? [body.raw] : []), ...responses.map((each) => each.body)].map((json) =>
        JSON.stringify(JSON.parse(json)),
      ),
    );
    expect(new Set(shown)).toEqual(new Set(documented));
  });

  it("sends the key of a variable, and contains none", () => {
    expect(Object.fromEntries(collection.auth.apikey.map(({ key, value }) => [key, value]))).toEqual({
      key: "x-api-key",
      value: "{{apiKey}}",
      in: "header",
    });
    expect(collection.variable).toContainEqual({ key: "apiKey", value: "" });
    expect(JSON.stringify(collection)).not.toMatch(/wmk_\w{8}_\w/);
  });
});

describe("its requests", () => {
  let app: TestApp;
  let folder: string;
  let variables: Record<string, string>;
  beforeAll(async () => {
    await buildSite();
    app = await startTestApp({ PUBLIC_URL: BASE_URL, WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api" });
    folder = await mkdtemp(join(tmpdir(), "waymark-postman-"));
    const demo = await ensureDemo({ ...app, dataDir: folder });
    const testKey = await createTestKey(demo?.agent ?? "");
    variables = {
      ...Object.fromEntries(collection.variable.map(({ key, value }) => [key, value])),
      baseUrl: app.url,
      apiKey: demo?.agent ?? "",
      markingNumber: "WM-100002",
      request_id: await loggedRequest(demo?.agent ?? ""),
      apiKeyId: await createKey(demo?.agent ?? ""),
      testKey,
      testMarkingNumber: await createTestJob(testKey),
      testEndpointId: await createTestEndpoint(testKey),
    };
  }, 300_000);
  afterAll(async () => {
    await app[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Creates an endpoint with a delivery, because some requests delete or replay them. */
  async function createWebhookObjects(): Promise<void> {
    const headers = { "content-type": "application/json" };
    const call = async (method: string, path: string, body?: object) => {
      const options = { method, key: variables["apiKey"] ?? "", headers };
      const response = await app.call(path, { ...options, ...(body && { body: JSON.stringify(body) }) });
      return response.body.data as { endpoint: { id: string }; items: { id: string }[] };
    };
    const { endpoint } = await call("POST", "/v1/webhook-endpoints", { url: RECEIVER_URL });
    await call("POST", `/v1/webhook-endpoints/${endpoint.id}/replay`, { which: "missing" });
    const { items: deliveries } = await call("GET", `/v1/webhook-deliveries?endpoint_id=${endpoint.id}`);
    variables["webhookEndpointId"] = endpoint.id;
    variables["webhookDeliveryId"] = deliveries[0]?.id ?? "";
  }

  /** Returns the id of a request that is in the log. */
  async function loggedRequest(key: string): Promise<string> {
    const { body } = await app.call("/v1/me", { key });
    await eventually(async () => {
      expect((await app.call(`/v1/requests/${body.request_id}`, { key })).status).toBe(200);
    });
    return body.request_id;
  }

  async function createKey(key: string): Promise<string> {
    const init = { method: "POST", key, body: JSON.stringify({ name: "to replace" }) };
    return String((await app.call("/v1/api-keys", init)).body.data.api_key.id);
  }

  async function createTestKey(key: string): Promise<string> {
    const init = { method: "POST", key, body: JSON.stringify({ name: "tests", mode: "test" }) };
    return String((await app.call("/v1/api-keys", init)).body.data.secret);
  }

  async function createTestJob(key: string): Promise<string> {
    return String(
      (await app.call("/v1/test/jobs", { method: "POST", key })).body.data.items[0].marking_number,
    );
  }

  async function createTestEndpoint(key: string): Promise<string> {
    const init = { method: "POST", key, body: JSON.stringify({ url: RECEIVER_URL }) };
    return String((await app.call("/v1/webhook-endpoints", init)).body.data.endpoint.id);
  }

  async function startTestRun(): Promise<void> {
    const path = `/v1/test/jobs/by-marking/${variables["testMarkingNumber"]}/run`;
    await app.call(path, {
      method: "POST",
      key: variables["testKey"] ?? "",
      body: JSON.stringify({ path: "cancelled" }),
    });
  }

  const fill = (value: string): string =>
    value.replaceAll(/\{\{(\w+)\}\}/g, (_all, key: string) => variables[key] ?? "");

  /** Sends a request like Postman: variables replaced, disabled pairs left out except `enabled`. */
  async function send({ request: { method, header, url, body } }: Item, enabled?: Pair): Promise<number> {
    // Each replays every event of the demo, so one per GET would use up the limit of replays.
    const isWebhook = url.path.some((segment) => segment.startsWith("webhook-"));
    if (isWebhook && (method !== "GET" || !variables["webhookEndpointId"])) await createWebhookObjects();
    const isTest = url.path.includes("test") && !isWebhook;
    // No worker runs here, so the run that another request has started would never end.
    if (isTest) await app.database.query(sql`delete from test_run`);
    if (isTest && method === "DELETE") await startTestRun();
    const isSent = (each: Pair): boolean => each.disabled !== true || each === enabled;
    const path = url.path.map((segment) => {
      const variable = url.variable.find(({ key }) => segment === `:${key}`);
      return variable ? fill(variable.value) : segment;
    });
    const query = new URLSearchParams(url.query.filter(isSent).map(({ key, value }) => [key, value]));
    const target = `/${path.join("/")}?${query}`;
    const response = await fetch(fill(url.host.join("")) + target, {
      method,
      headers: [
        ...header.filter(isSent).map(({ key, value }): [string, string] => [key, value]),
        ["x-api-key", fill(isTest ? "{{testKey}}" : "{{apiKey}}")],
      ],
      ...(body && {
        body: body.raw
          .replaceAll("MN-2026-000123", "WM-100002")
          .replaceAll("TEST-4K7Q2M9XR3VD", fill("{{testMarkingNumber}}"))
          .replaceAll(/whe_01\w+/g, fill("{{testEndpointId}}"))
          .replaceAll("https://partner.example/webhooks", RECEIVER_URL),
      }),
    });
    const received = await response.text();
    const { status, headers } = response;
    const parsed: unknown = received === "" ? null : JSON.parse(received);
    expectToMatchContract(method, target, { status, headers, body: parsed });
    if (isWebhook && method === "DELETE") delete variables["webhookEndpointId"];
    return status;
  }

  it.each(items)("$name: succeeds", async (item) => {
    expect(await send(item)).toBe(item.response[0]?.code);
  });

  it("have optional parameters with documented results", async () => {
    const statuses: Record<string, number> = {};
    for (const item of items)
      for (const pair of [...item.request.url.query, ...item.request.header].filter((each) => each.disabled))
        statuses[`${item.name}: ${pair.key}`] = await send(item, pair);
    expect(Object.keys(statuses).length).toBeGreaterThan(20);
    expect(statuses).toMatchObject({ "List delivery jobs: normalized_status": 200 });
  });

  it("link a page of the guide", async () => {
    for (const {
      request: { description },
    } of items) {
      const [, path = ""] =
        /\[Guide\]\(https:\/\/api\.example\.com\/waymark(\/guide\/[^)#]*)[^)]*\)$/.exec(description) ?? [];
      expect((await app.request(path)).status).toBe(200);
    }
  });

  it("are served with the public URL of the deployment", async () => {
    const served = await fetch(app.url + URL_PATH);
    expect([served.status, served.headers.get("content-type")]).toEqual([
      200,
      "application/json; charset=utf-8",
    ]);
    expect(await served.json()).toEqual(collection);
  });

  it("are linked from the guide and from the reference", async () => {
    expect((await app.request("/guide/clients")).text).toContain(`href="${BASE_URL}${URL_PATH}"`);
    const section = "clients#postman-bruno-insomnia-and-hoppscotch";
    expect((await app.request("/guide/quickstart")).text).toContain(`href="${section}"`);
    expect((await app.request("/docs")).text).toContain(`href="/waymark/guide/${section}"`);
  });
});
