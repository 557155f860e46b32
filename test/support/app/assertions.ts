/** Assertions on REST responses. */
import { expect } from "vitest";
import type { Problem } from "../../../src/core/errors.ts";
import type { ApiResponse } from "./app-instance.ts";
import { errorCodeByStatus } from "./error-codes.ts";

const REQUEST_ID = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;

/** Expects the response envelope, success or failure. */
export function expectEnvelope({ headers, body }: ApiResponse): void {
  expect(Object.keys(body)).toEqual(["request_id", "success", "data", "error"]);
  expect(body.request_id).toMatch(REQUEST_ID);
  expect(headers.get("x-request-id")).toBe(body.request_id);
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
}

/** Expects a 200 and returns its data. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests read data of any shape
export function expectData(response: ApiResponse): any {
  expect(response.body.error).toBeNull();
  expectEnvelope(response);
  expect(response.status).toBe(200);
  expect(response.body.success).toBe(true);
  return response.body.data;
}

/** Expects a failure with this status and its error code, and returns the error. */
export function expectFailure(
  response: ApiResponse,
  status: number,
  message?: string | RegExp,
): NonNullable<ApiResponse["body"]["error"]> {
  const { error } = response.body;
  expect({ status: response.status, code: error?.code }).toEqual({ status, code: errorCodeByStatus[status] });
  expectEnvelope(response);
  expect(response.body.success).toBe(false);
  expect(response.body.data).toBeNull();
  if (message !== undefined) expect(error?.message).toMatch(message);
  return error as NonNullable<ApiResponse["body"]["error"]>;
}

/** Expects a 400 whose problems have exactly these fields, in any order, and returns the problems. */
export function expectProblems(
  response: ApiResponse,
  location: Problem["location"],
  fields: readonly string[],
): Problem[] {
  const problems = expectFailure(response, 400).details as Problem[];
  expect(new Set(problems.map((problem) => problem.field))).toEqual(new Set(fields));
  for (const problem of problems) {
    expect(Object.keys(problem)).toEqual(["location", "field", "code", "message"]);
    expect(problem.location).toBe(location);
  }
  return problems;
}

/** Returns the response without its date and request ID, to compare responses for equality. */
export function withoutRequestId({ status, headers, body }: ApiResponse): unknown {
  const comparedHeaders = [...headers].filter(([name]) => !["date", "x-request-id"].includes(name));
  return { status, headers: comparedHeaders, body: { ...body, request_id: "" } };
}
