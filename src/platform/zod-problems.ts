/** zod's findings as the problems that a caller is told. */
import type { z } from "zod";
import type { Problem } from "./errors.ts";

/** Messages of our schemas are predicates (`must be a number`); `field` is `prefix` and the path (`jobs[3].weight`). */
export function toProblems(error: z.ZodError, location: Problem["location"], prefix = ""): Problem[] {
  return error.issues.map((issue) => ({
    location,
    field: prefix + formatPath(issue.path),
    code: issue.code === "custom" ? "invalid_value" : issue.code,
    message: issue.message,
  }));
}

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, at) => (typeof part === "number" ? `[${part}]` : `${at > 0 ? "." : ""}${String(part)}`))
    .join("");
}
