/** A request in the log, as its organisation sees it. */
import { z } from "zod";
import { timestampOf, toTypedId } from "../core/ids.ts";
import { dateTime, idSchema, requestIdSchema, text } from "../operations/schemas.ts";

/** 2xx or 3xx, 4xx, and 5xx. */
export const requestOutcomes = ["succeeded", "refused", "failed"] as const;

export const exampleEntry = {
  requestId: "req_01KAJQZ4T0W5H8M3N9PXR2VD7C",
  at: "2026-11-21T09:15:42.318Z",
  method: "PATCH",
  path: "/v1/jobs/by-marking/MN-2026-000123",
  status: 400,
  durationMs: 4.2,
  errorCode: "BadRequestException",
  keyId: "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
  keyName: "Warehouse sync",
  requestBody: '{"weight":"heavy"}',
  responseBody: null,
  simulated: null,
  ignoredParameters: [],
};

const body = (what: string) =>
  text(
    `First 4 KiB of the ${what} body, only of failed requests and for keys with \`jobs:read\`. Personal data is masked`,
    '{"weight":"heavy"}',
  ).nullable();

export const requestLogEntry = z
  .object({
    requestId: requestIdSchema.meta({
      ...requestIdSchema.meta(),
      description: "Request ID, as in the response",
    }),
    at: dateTime("Time at which the request arrived", exampleEntry.at),
    method: text("HTTP method", "PATCH"),
    path: text(
      "Path without the query. For keys without `jobs:read`, Marking Numbers are masked",
      exampleEntry.path,
    ),
    status: z.int().meta({
      description: "HTTP status. 499: the connection was closed before the response",
      examples: [400],
    }),
    durationMs: z.number().meta({ description: "Duration in milliseconds", examples: [4.2] }),
    errorCode: text("Error code; null on success", "BadRequestException").nullable(),
    keyId: idSchema("key", "Key ID", exampleEntry.keyId),
    keyName: text("Name of the key; null if the key no longer exists", "Warehouse sync").nullable(),
    requestBody: body("request"),
    responseBody: body("response"),
    simulated: text("The `X-Waymark-Simulate` header that was applied; null if none", "503").nullable(),
    ignoredParameters: z.array(z.string()).meta({
      description:
        "Unknown parameters of a read, which had no effect. `***`: a name that is no word, because it could contain a secret",
      examples: [["status"]],
    }),
  })
  .meta({ id: "RequestLogEntry", description: "A request made with an API key of the organization." });

export type RequestLogEntryView = z.output<typeof requestLogEntry>;

/** As in the database: uuids, and milliseconds not rounded. */
export interface RequestLogRow extends Omit<RequestLogEntryView, "requestId" | "at"> {
  readonly id: string;
}

export function toEntryView({ id, keyId, durationMs, ...row }: RequestLogRow): RequestLogEntryView {
  return {
    ...row,
    requestId: toTypedId("req", id),
    at: timestampOf(id),
    keyId: toTypedId("key", keyId),
    durationMs: Math.round(durationMs * 100) / 100,
  };
}

/** Without bodies and Marking Numbers. */
export function toViewWithoutJobs(row: RequestLogRow): RequestLogEntryView {
  const path = row.path.replace(/^(\/v1\/(?:test\/)?jobs\/by-marking\/)[^/]+/, "$1***");
  return { ...toEntryView(row), path, requestBody: null, responseBody: null };
}
