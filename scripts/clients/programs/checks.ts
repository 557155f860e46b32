/** The calls that every TypeScript client makes, through functions that return status and body. */
interface Answer {
  status: number;
  body: any;
}
export interface Calls {
  list(query: Record<string, unknown>): Promise<Answer>;
  get(markingNumber: string): Promise<Answer>;
  patch(markingNumber: string, body: Record<string, unknown>, ifMatch?: string): Promise<Answer>;
  batch(jobs: Record<string, unknown>[]): Promise<Answer>;
  events(types: ("job.updated" | "job.status_changed")[]): Promise<Answer>;
  history(markingNumber: string): Promise<Answer>;
  statuses(): Promise<Answer>;
  me(): Promise<Answer>;
  lookUp(markingNumbers: string[]): Promise<Answer>;
}

function check(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
  console.log(`ok ${what}`);
}

export async function makeCalls(calls: Calls): Promise<void> {
  const first = await calls.list({ page: 1, page_size: 2 });
  check(first.status === 200 && first.body.data.items.length === 2, "list by page");
  const cursor = first.body.data.pagination.next_cursor;
  const next = await calls.list({ cursor, page_size: 2 });
  const job = next.body.data.items[0];
  check(job.marking_number && job.id !== first.body.data.items[0].id, "list by cursor");
  const filtered = await calls.list({ normalized_status: job.normalized_status, sort: "-updated_at" });
  check(filtered.body.data.pagination.total > 0, "list with filters");
  const number: string = job.marking_number;
  check((await calls.get(number)).body.data.id === job.id, "get");
  const weight = Date.now() % 1000;
  const patched = await calls.patch(number, { weight, labels: null });
  check(patched.body.data.weight === weight && patched.body.data.labels === null, "patch");
  const batch = await calls.batch([
    { marking_number: number, weight: weight + 1 },
    { marking_number: "no-such-job", weight: 1 },
  ]);
  const [updated, failed] = batch.body.data.results;
  check(updated.job.weight === weight + 1 && failed.error_code === "NotFoundException", "batch");
  const events = await calls.events(["job.updated", "job.status_changed"]);
  check(events.status === 200 && events.body.data.items[0].data.job.id, "events with types");
  check((await calls.history(number)).body.data.items[0].changes.weight.to === weight + 1, "history");
  check((await calls.statuses()).body.data.items.length > 3, "reference");
  check((await calls.me()).body.data.api_key.scopes.includes("jobs:read"), "me");
  const found = (await calls.lookUp([number, "no-such-job"])).body.data.items;
  check(found[0].id === job.id && found[1] === null, "look up");
  const missing = await calls.get("no-such-job");
  check(missing.status === 404 && missing.body.error.code === "NotFoundException", "404");
  const conflict = await calls.patch(number, { weight: 1 }, '"99999"');
  check(conflict.status === 412 && conflict.body.error.details.current_etag, "412");
}
