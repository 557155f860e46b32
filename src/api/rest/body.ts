/** JSON bodies of requests with a fixed set of members. Collects all problems of a body. */
import type { z } from "zod";
import { unknownNames } from "../../core/did-you-mean.ts";
import { badRequest, type Problem } from "../../core/errors.ts";
import { toProblems } from "../../core/zod-problems.ts";
import type { JsonObject } from "../json.ts";

/** Size limit of a JSON body, except that of a batch. */
export const MAX_JSON_BYTES = 64 * 1024;

/** Returns the parsed body. Throws BadRequestException with all problems, also for a member that `schema` does not have. */
export function parseBody<Schema extends z.ZodObject>(schema: Schema, body: JsonObject): z.output<Schema> {
  const result = schema.safeParse(body);
  const problems = [
    ...(result.error ? toProblems(result.error, "body") : []),
    ...unknownMembers(Object.keys(schema.shape), body),
  ];
  if (problems.length > 0) throw badRequest(problems);
  return result.data as z.output<Schema>;
}

export function unknownMembers(known: readonly string[], body: JsonObject): Problem[] {
  return unknownNames(Object.keys(body), known).map(({ name, nearest }) => {
    const advice = nearest === null ? `must be one of ${known.join(", ")}` : `did you mean ${nearest}?`;
    const message = `is not a known member; ${advice}`;
    return { location: "body", field: name, code: "unknown_member", message };
  });
}
