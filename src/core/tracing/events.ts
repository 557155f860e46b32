/** The span of the events that a statement inserts. Their deliveries continue its trace, also in another process. */
import { SpanKind } from "@opentelemetry/api";
import type { Queryable } from "../postgres/database.ts";
import type { Sql } from "../postgres/sql.ts";
import { startSpan, traceparentOf } from "./tracing.ts";

/** Runs the statement that inserts events into `table` and stores `traceparent` with them. Without `isEvent`, each row is an event. */
export async function insertTraced<Row>(
  queryable: Queryable,
  { table, isEvent = () => true }: { table: string; isEvent?: (row: Row) => boolean },
  statement: (traceparent: string | null) => Sql,
): Promise<Row[]> {
  const span = startSpan(`publish ${table}`, {
    kind: SpanKind.PRODUCER,
    attributes: {
      "messaging.system": "waymark",
      "messaging.operation.type": "send",
      "messaging.operation.name": "publish",
      "messaging.destination.name": table,
    },
  });
  const rows = await queryable.query<Row>(statement(span && traceparentOf(span)));
  const count = span ? rows.filter(isEvent).length : 0;
  // A span that is never ended is not exported.
  if (span === null || count === 0) return rows;
  const end = (): void => span.setAttribute("messaging.batch.message_count", count).end();
  if (queryable.afterCommit) queryable.afterCommit(end);
  else end();
  return rows;
}
