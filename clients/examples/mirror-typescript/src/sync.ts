/** Keeps the mirror in sync: a first copy, then every change in order. */
import { NotFoundError, type Waymark } from "@waymark/client";
import type { Mirror } from "./mirror.ts";

/** Applies every change until `signal` aborts. */
export async function followChanges(waymark: Waymark, mirror: Mirror, signal: AbortSignal): Promise<void> {
  const pages = waymark.events.followPages({
    after: mirror.cursor() ?? (await makeFirstCopy(waymark, mirror, signal)),
    signal,
    pollIntervalMs: Number(process.env["POLL_INTERVAL_MS"] ?? 5_000),
    onRetry: (error, delayMs) =>
      console.log(`${error.message}. Next attempt in ${Math.ceil(delayMs / 1_000)} s`),
    async onGone() {
      console.log("Away for more than 30 days: some changes have left the feed");
      await reconcile(waymark, mirror, signal);
      // The client took the latest cursor before it called this function, so no change is missed.
      return "latest" as const;
    },
  });
  for await (const { events, cursor } of pages) {
    const count = mirror.apply(events, cursor);
    for (const { type, data } of events)
      console.log(type, data.job.marking_number, `version ${data.sequence}`);
    console.log(`${count} of ${events.length} changes were new`);
  }
}

/** Returns the cursor from which to follow. It is taken before the list, so changes during the copy are in the feed after it. */
async function makeFirstCopy(waymark: Waymark, mirror: Mirror, signal: AbortSignal): Promise<string | null> {
  const { next_cursor: cursor } = await waymark.events.listPage({ after: "latest" }, { signal });
  await reconcile(waymark, mirror, signal);
  if (cursor !== null) mirror.setCursor(cursor);
  return cursor;
}

/** Copies every job that is newer than the mirror's, and deletes the jobs that you can no longer see. */
async function reconcile(waymark: Waymark, mirror: Mirror, signal: AbortSignal): Promise<void> {
  const missing = mirror.markingNumbers();
  let listed = 0;
  let copied = 0;
  for await (const job of waymark.jobs.list({ sort: "created_at" }, { signal })) {
    listed += 1;
    if (mirror.store(job)) copied += 1;
    missing.delete(job.id);
  }
  let deleted = 0;
  for (const [id, markingNumber] of missing) {
    if (await isVisible(waymark, id, markingNumber, signal)) continue;
    mirror.delete(id);
    deleted += 1;
  }
  console.log(`${listed} jobs listed, ${copied} copied, ${deleted} deleted`);
}

/** A job that is assigned to you while you list can be missing from the list. */
async function isVisible(
  waymark: Waymark,
  id: string,
  markingNumber: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await waymark.jobs.get(markingNumber, { signal })).id === id;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}
