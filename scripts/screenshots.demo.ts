/** Starts a demo server and fills it with the data that the guide shows. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Login {
  email: string;
  password: string;
}

export interface Demo extends AsyncDisposable {
  readonly url: string;
  readonly logins: Record<"agent" | "contractor" | "operator", Login>;
  readonly keys: Record<"agent" | "contractor" | "test" | "operator", string>;
}

const PORT = process.env["PORT"] ?? "4195";
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const START_TIMEOUT_MS = 180_000;

/** Starts a server with default settings except port, log level and data folder. Throws if it is not ready in 3 minutes. */
export async function startDemo(folder: string): Promise<Demo> {
  const url = `http://127.0.0.1:${PORT}`;
  const dataDir = join(folder, "data");
  const env = { ...process.env, PORT, WAYMARK_DATA_DIR: dataDir, LOG_LEVEL: "error" };
  const child = spawn(process.execPath, ["src/main.ts"], {
    cwd: ROOT,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "close");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  try {
    await waitUntilReady(url, () => child.exitCode === null);
  } catch (error) {
    await stop();
    throw error;
  }
  const read = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(join(dataDir, name), "utf8"));
  return {
    url,
    logins: (await read("demo-logins.json")) as Demo["logins"],
    keys: (await read("demo-keys.json")) as Demo["keys"],
    [Symbol.asyncDispose]: stop,
  };
}

async function waitUntilReady(url: string, isAlive: () => boolean): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (isAlive() && Date.now() < deadline) {
    const response = await fetch(`${url}/health/ready`).catch(() => null);
    if (response?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("The demo did not start");
}

/** Starts a webhook receiver that returns success at `/orders` and errors elsewhere. */
export async function startDemoReceiver(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => {
    const isHealthy = request.url === "/orders";
    response.writeHead(isHealthy ? 200 : 503, { "content-type": "application/json" });
    response.end(JSON.stringify(isHealthy ? { received: true } : { error: "Down for maintenance" }));
  });
  server.listen(Number(PORT) + 1, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const CREATE_API_KEY = `mutation { createApiKey(input: { name: "Warehouse sync, production", scopes: [JOBS_READ, JOBS_WRITE] }) {
  userErrors { message } } }`;
const CREATE_ENDPOINT = `mutation ($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) {
  endpoint { id } userErrors { message } } }`;

/** Creates keys, webhooks with deliveries, failed requests and account requests. Returns an endpoint's ID. */
export async function populateDemo(demo: Demo, receiver: string): Promise<string> {
  const graphql = (query: string, variables = {}): Promise<unknown> =>
    post(`${demo.url}/graphql`, { query, variables }, { "x-api-key": demo.keys.agent });
  await graphql(CREATE_API_KEY);
  const endpoints = [
    { url: `${receiver}/orders`, description: "Dispatch board, production" },
    { url: `${receiver}/billing`, description: "Billing" },
  ];
  const created = [];
  for (const input of endpoints) created.push(await graphql(CREATE_ENDPOINT, { input }));
  await updateSomeJobs(demo);
  await simulateFailures(demo);
  const testKey = { "x-api-key": demo.keys.test };
  await post(`${demo.url}/v1/webhook-endpoints`, { url: `${receiver}/orders` }, testKey);
  for (const request of accountRequests) await post(`${demo.url}/auth/account-requests`, request);
  const [first] = created as [{ data: { createWebhookEndpoint: { endpoint: { id: string } } } }];
  return first.data.createWebhookEndpoint.endpoint.id;
}

const accountRequests = [
  ["Harbour Parcels", "agent", "We deliver bakery goods in the east of the city, some 400 jobs a day."],
  ["Mill Lane Couriers", "contractor", "We would carry out jobs of Northwind Agency in the north."],
  ["Quay Haulage", "contractor", null],
].map(([name, type, message]) => ({
  email: `office@${String(name).toLowerCase().replaceAll(" ", "-")}.example`,
  organization_name: name,
  organization_type: type,
  message,
}));

async function updateSomeJobs({ url, keys }: Demo): Promise<void> {
  const headers = { "x-api-key": keys.agent, "content-type": "application/json" };
  const list = await fetch(`${url}/v1/jobs?page_size=12&normalized_status=in_transit`, { headers });
  const { data } = (await list.json()) as { data: { items: { marking_number: string }[] } };
  for (const [index, { marking_number: number }] of data.items.entries()) {
    const patch =
      index % 3 === 2 ? { instructions: "Ring twice" } : { normalized_status: "out_for_delivery" };
    const path = `${url}/v1/jobs/by-marking/${number}`;
    await fetch(path, { method: "PATCH", headers, body: JSON.stringify(patch) });
  }
  await fetch(`${url}/v1/jobs/by-marking/WM-0`, { headers });
  await fetch(`${url}/v1/jobs?normalized_status=nearly_there`, { headers });
}

/** Fills the request log of test mode. */
async function simulateFailures({ url, keys }: Demo): Promise<void> {
  for (const simulate of ["429", "503", "500", "slow:300"]) {
    const headers = { "x-api-key": keys.test, "x-waymark-simulate": simulate };
    await fetch(`${url}/v1/jobs`, { headers });
  }
}

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<unknown> {
  const { origin } = new URL(url);
  const allHeaders = { "content-type": "application/json", origin, ...headers };
  const response = await fetch(url, { method: "POST", headers: allHeaders, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${await response.text()}`);
  return await response.json();
}
