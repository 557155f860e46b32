/**
 * The hand-written baseline that Waymark is compared with: the same responses from node:http and `pg` alone. It checks the
 * API key, validates the request, runs one prepared statement and writes the same headers, envelope and log line.
 */
import { writeSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { newRequestId, newUuid } from "../src/core/ids.ts";
import { loadCallers } from "./baseline/api-keys.ts";
import { openPool } from "./baseline/pool.ts";
import {
  batchStatement,
  listStatement,
  NO_RANGE,
  patchStatement,
  type BaselineCaller,
  type ListRequest,
} from "./baseline/statements.ts";
import { updateInTransactions } from "./baseline/transaction-loop.ts";
import { queryDashboard, queryOneJob, queryStats } from "./graphql/baseline-resolver.ts";
import {
  readDay,
  readNumber,
  readPatch,
  readText,
  RequestError,
  DEFAULT_HEADERS,
  toWire,
  type Patch,
  type Row,
} from "./baseline/validation.ts";

interface BaselineReply {
  data: unknown;
  headers: string[];
  /** Sends `data` as the whole body, without the REST envelope. */
  withoutEnvelope?: true;
}

const BY_MARKING = "/v1/jobs/by-marking/";
const pool = openPool("baseline");
const callerOf = await loadCallers(pool);
const statuses = new Set(
  (await pool.query<{ code: string }>("select code from job_status")).rows.map((row) => row.code),
);

const server = createServer((request, response) => {
  const startedMs = performance.now();
  const requestId = newRequestId();
  void answer(request, requestId, startedMs, response);
});

async function answer(
  request: IncomingMessage,
  requestId: string,
  startedMs: number,
  response: ServerResponse,
): Promise<void> {
  let caller: BaselineCaller | null = null;
  let route = "unknown";
  let status = 200;
  let text: string;
  let headers: string[] = [];
  try {
    caller = callerOf(request);
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    route = path.startsWith(BY_MARKING) ? BY_MARKING : path;
    const reply =
      request.method === "GET"
        ? await list(caller, path, query)
        : request.method === "POST"
          ? await answerOperation(caller, await readBody(request))
          : path === "/v1/jobs/batch"
            ? await updateBatch(caller, await readBody(request), { requestId, inLoop: query === "loop" })
            : await updateOne(caller, path.slice(BY_MARKING.length), await readBody(request), requestId);
    headers = reply.headers;
    const data = JSON.stringify(reply.data);
    text = reply.withoutEnvelope
      ? data
      : `{"request_id":"${requestId}","success":true,"data":${data},"error":null}`;
  } catch (error) {
    status = error instanceof RequestError ? error.status : 500;
    if (status === 500) console.error(error);
    const message = JSON.stringify(error instanceof RequestError ? error.message : "unexpected");
    text = `{"request_id":"${requestId}","success":false,"data":null,"error":{"code":"${status}","message":${message},"details":null}}`;
  }
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, [
    ...DEFAULT_HEADERS,
    "X-Request-Id",
    requestId,
    "Content-Length",
    length,
    ...headers,
  ]);
  response.end(text);
  const ms = Math.round((performance.now() - startedMs) * 100) / 100;
  writeSync(
    1,
    `{"level":30,"time":"${new Date().toISOString()}","request_id":"${requestId}","method":"${request.method}","route":"${route}","status":${status},"duration_ms":${ms},"organization":"${caller?.typedOrganizationId}","key":"${caller?.typedKeyId}"}\n`,
  );
}

async function list(caller: BaselineCaller, path: string, query: string): Promise<BaselineReply> {
  const parameters = new URLSearchParams(query);
  const page = readNumber(parameters.get("page"), 1, 2_147_483_647);
  const limit = readNumber(parameters.get("page_size"), 10, 100);
  const range = ["updated_at_from", "updated_at_to", "scheduled_date_from", "scheduled_date_to"].map((name) =>
    readDay(parameters.get(name)),
  );
  const request: ListRequest = {
    limit,
    offset: (page - 1) * limit,
    equalTo: [
      parameters.get("marking_number"),
      parameters.get("batch_number"),
      parameters.get("normalized_status"),
    ],
    range: range.some((bound) => bound !== null) ? range : NO_RANGE,
  };
  const { rows } = await pool.query<Row>(listStatement(caller, request));
  const total = (rows[0]?.["total"] as number | undefined) ?? 0;
  const last = Math.max(1, Math.ceil(total / limit));
  const link = (to: number, relation: string): string => {
    parameters.set("page", String(to));
    return `<${path}?${parameters.toString()}>; rel="${relation}"`;
  };
  const links = [
    link(1, "first"),
    page > 1 && link(page - 1, "prev"),
    page < last && link(page + 1, "next"),
    link(last, "last"),
  ];
  const end = rows.at(-1);
  const cursor =
    end && page < last
      ? Buffer.from(JSON.stringify([1, "jobs", "-created_at", end["created_at"], end["id"]])).toString(
          "base64url",
        )
      : null;
  const pagination = { page, page_size: limit, total, next_cursor: cursor };
  return {
    data: { items: rows.map(toWire), pagination },
    headers: ["Link", links.filter(Boolean).join(", ")],
  };
}

async function updateOne(
  caller: BaselineCaller,
  encodedNumber: string,
  body: unknown,
  requestId: string,
): Promise<BaselineReply> {
  const markingNumber = decodeURIComponent(encodedNumber);
  if (markingNumber === "" || markingNumber.length > 120)
    throw new RequestError(400, "The Marking Number must have 1 to 120 characters");
  const patch = readPatch(body, statuses);
  const { rows } = await pool.query<Row>(patchStatement(caller, markingNumber, patch, requestId));
  const [row] = rows;
  if (!row) throw new RequestError(404, "Delivery job not found");
  return { data: toWire(row), headers: ["ETag", `"${row["version"]}"`] };
}

async function updateBatch(
  caller: BaselineCaller,
  body: unknown,
  { requestId, inLoop }: { requestId: string; inLoop: boolean },
): Promise<BaselineReply> {
  const jobs = (body as { jobs?: unknown } | null)?.jobs;
  if (!Array.isArray(jobs) || jobs.length === 0 || jobs.length > 100)
    throw new RequestError(400, "jobs must be a list of 1 to 100 jobs");
  const items = jobs.map((job: Patch) => ({
    markingNumber: readText(job["marking_number"], 120),
    patch: readPatch(job, statuses),
    eventId: newUuid(),
  }));
  const rows: Row[] = inLoop
    ? await updateInTransactions(pool, caller, items, requestId)
    : (await pool.query<Row>(batchStatement(caller, items, requestId))).rows;
  const byNumber = new Map(rows.map((row) => [row["marking_number"], row]));
  const results = items.map(({ markingNumber }) => {
    const row = byNumber.get(markingNumber);
    if (!row) return { marking_number: markingNumber, success: false, error: "Delivery job not found" };
    return { marking_number: markingNumber, success: true, job: toWire(row) };
  });
  return {
    data: { updated_count: rows.length, failed_count: items.length - rows.length, results },
    headers: [],
  };
}

/** Answers the benchmark's GraphQL operations, which it recognises by their variables. It does not parse GraphQL. */
async function answerOperation(caller: BaselineCaller, body: unknown): Promise<BaselineReply> {
  const { variables = {} } = body as { variables?: { status?: unknown; number?: unknown } };
  const data =
    variables.status !== undefined
      ? { jobs: { nodes: await queryDashboard(pool, caller, readText(variables.status, 64)) } }
      : variables.number !== undefined
        ? await queryOneJob(pool, caller, readText(variables.number, 120))
        : await queryStats(pool, caller);
  return { data: { data }, headers: [], withoutEnvelope: true };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => resolve(Buffer.concat(chunks).toString()));
  request.on("error", reject);
  const text = await promise;
  try {
    return JSON.parse(text);
  } catch {
    throw new RequestError(400, "The body is not valid JSON");
  }
}

server.listen(0, "127.0.0.1", () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
process.once("disconnect", () => {
  server.closeAllConnections();
  server.close();
  void pool.end();
});
