/** An operation as a span. */
import type { SpanOptions } from "../../platform/tracing/tracing.ts";

const MAX_NAME_LENGTH = 100;

/**
 * Called by its kind alone: its own name is the caller's, who may make up a new one each time, and what counts spans by their
 * names would never end.
 */
export function operationSpan(kind: string, name: string | null | undefined): [string, SpanOptions] {
  return [
    `GraphQL ${kind}`,
    {
      kind: "internal",
      attributes: {
        "graphql.operation.type": kind,
        ...(typeof name === "string" && { "graphql.operation.name": name.slice(0, MAX_NAME_LENGTH) }),
      },
    },
  ];
}
