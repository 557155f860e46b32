/** Trace spans of operations. */
import type { SpanOptions } from "@opentelemetry/api";

const MAX_NAME_LENGTH = 100;

/**
 * Returns the arguments of `startSpan`. The span name holds only the operation's kind: clients choose operation names, and
 * unlimited span names would overload tools that group by name.
 */
export function operationSpan(kind: string, name: string | null | undefined): [string, SpanOptions] {
  return [
    `GraphQL ${kind}`,
    {
      attributes: {
        "graphql.operation.type": kind,
        ...(typeof name === "string" && { "graphql.operation.name": name.slice(0, MAX_NAME_LENGTH) }),
      },
    },
  ];
}
