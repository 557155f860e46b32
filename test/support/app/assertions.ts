/** What every answer of the API must look like, success or failure. */
import { expect } from "vitest";
import type { Problem } from "../../../src/platform/errors.ts";
import type { ApiResponse } from "./app-instance.ts";

const REQUEST_ID = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;

/** The code that belongs to each status of a failure. */
export const errorCodeByStatus: Readonly<Record<number, string>> = {
  400: "BadRequestException",
  401: "UnauthorizedException",
  403: "ForbiddenException",
  404: "NotFoundException",
  405: "MethodNotAllowedException",
  409: "ConflictException",
  410: "GoneException",
  412: "PreconditionFailedException",
  413: "PayloadTooLargeException",
  415: "UnsupportedMediaTypeException",
  422: "UnprocessableEntityException",
  429: "TooManyRequestsException",
  500: "InternalServerErrorException",
  503: "ServiceUnavailableException",
};

/** The envelope, whatever it holds. */
export function expectEnvelope({ headers, body }: ApiResponse): void {
  expect(Object.keys(body)).toEqual(["request_id", "success", "data", "error"]);
  expect(body.request_id).toMatch(REQUEST_ID);
  expect(headers.get("x-request-id")).toBe(body.request_id);
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
}

/** A 200 in the envelope; answers with its data. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into data of every shape
export function expectData(answer: ApiResponse): any {
  expect(answer.body.error).toBeNull();
  expectEnvelope(answer);
  expect(answer.status).toBe(200);
  expect(answer.body.success).toBe(true);
  return answer.body.data;
}

/** A failure in the envelope with the code of its status; answers with its error. */
export function expectFailure(
  answer: ApiResponse,
  status: number,
  message?: string | RegExp,
): NonNullable<ApiResponse["body"]["error"]> {
  const { error } = answer.body;
  expect({ status: answer.status, code: error?.code }).toEqual({ status, code: errorCodeByStatus[status] });
  expectEnvelope(answer);
  expect(answer.body.success).toBe(false);
  expect(answer.body.data).toBeNull();
  if (message !== undefined) expect(error?.message).toMatch(message);
  return error as NonNullable<ApiResponse["body"]["error"]>;
}

/** A 400 whose details name exactly these fields, in any order. */
export function expectProblems(
  answer: ApiResponse,
  location: Problem["location"],
  fields: readonly string[],
): Problem[] {
  const problems = expectFailure(answer, 400).details as Problem[];
  expect(new Set(problems.map((problem) => problem.field))).toEqual(new Set(fields));
  for (const problem of problems) {
    expect(Object.keys(problem)).toEqual(["location", "field", "code", "message"]);
    expect(problem.location).toBe(location);
  }
  return problems;
}

/** Everything of an answer that could tell one missing job from another. */
export function withoutRequestId({ status, headers, body }: ApiResponse): unknown {
  const kept = [...headers].filter(([name]) => !["date", "x-request-id"].includes(name));
  return { status, headers: kept, body: { ...body, request_id: "" } };
}
