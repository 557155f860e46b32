/** Calls every method of the TypeScript client. The tests run it, and compile it against the package. */
import {
  ConflictError,
  NotFoundError,
  Waymark,
  type ClientOptions,
} from "../../../clients/typescript/src/index.ts";

/** Calls each operation at least once. `markingNumber` names a job that may be changed. */
export async function callEveryOperation(options: ClientOptions, markingNumber: string): Promise<void> {
  const waymark = new Waymark(options);
  const { jobs, events, reference } = waymark;
  await callWebhooks(waymark);
  await callAccount(waymark);
  await callTestMode(options, waymark);

  for await (const { version, normalized_status: status } of jobs.list({ sort: "-updated_at" }))
    if (version < 1 || status === "") throw new Error("A job has a version and a status");
  const { pagination } = await jobs.listPage({ page: 1, page_size: 1, q: "x" });
  const { data: job, headers } = await jobs.get(markingNumber).withResponse();
  const [found, absent] = await jobs.lookUp([markingNumber, "no such job"]);
  const { total, groups } = await jobs.getStats({ group_by: ["normalized_status"] });
  if (found?.marking_number !== markingNumber || absent !== null || total < 1 || groups.length === 0)
    throw new Error("The job is found and counted");
  const etag: string | null = headers.get("etag");
  const unchanged: typeof job | null = await jobs.getIfChanged(markingNumber, etag ?? "");
  await jobs.update(markingNumber, { weight: 1, labels: null }, { dryRun: true, ifMatch: etag ?? "" });
  await jobs.updateBatch([{ marking_number: markingNumber, weight: 2 }], { idempotencyKey: "key-1" });
  const moved = { jobs: [{ marking_number: markingNumber }], due_date: "2026-12-01" };
  await jobs.reschedule(moved, { idempotencyKey: "key-2", dryRun: true, onError: "stop_all" });
  for await (const result of jobs.updateMany([{ marking_number: markingNumber, weight: 3 }]))
    if (!result.success) throw new Error(`${result.error_code}: ${result.error}`);
  for await (const { changes } of jobs.listHistory(markingNumber)) Object.keys(changes);
  await jobs.listHistoryPage(markingNumber, { page: 1 });

  for await (const { data } of events.list({ types: ["job.updated"] })) data.sequence.toFixed();
  const { next_cursor: cursor } = await events.listPage({ after: "latest" });
  const signal = AbortSignal.abort();
  const store = { load: () => cursor, save: () => undefined };
  const following = { signal, onGone: (): "oldest" => "oldest" };
  for await (const { id } of events.follow({ store, ...following })) id.trim();
  for await (const page of events.followPages({ after: cursor, ...following })) page.events.at(0);

  const codes: string[] = [
    ...(await reference.listStatuses()),
    ...(await reference.listFailureReasons()),
  ].map(({ code }) => code);
  if (pagination.total < 0 || unchanged !== null || codes.length === 0) throw new Error("Unexpected answers");
}

async function callWebhooks({ webhooks }: Waymark): Promise<void> {
  const { endpoint, secret } = await webhooks.createEndpoint({
    url: "http://127.0.0.1:9/",
    description: null,
  });
  const { id } = endpoint;
  if (secret === null) throw new Error("A new endpoint has a secret");
  const [listed] = await webhooks.listEndpoints();
  const { url } = await webhooks.getEndpoint(id);
  if (listed?.url !== url) throw new Error("The list has the endpoint");
  await webhooks.updateEndpoint(id, { event_types: null, per_second: 10 });
  await webhooks.rotateSecret(id);
  const { attempts, id: testId } = await webhooks.sendTestEvent(id);
  if (attempts[0]?.http_status !== null) throw new Error("No server listens there");
  const [newest] = await webhooks.listEndpointAttempts(id);
  if (newest?.delivery_id !== testId) throw new Error("The newest attempt is the test event's");
  await webhooks.pauseEndpoint(id);
  await webhooks.resumeEndpoint(id, { pending: "discard" });
  await webhooks.retryEndpoint(id);
  const { cursor } = await webhooks.replayDeliveries(id, { which: "missing" });
  for await (const { status } of webhooks.listDeliveries({ endpoint_id: id })) status.trim();
  const { items } = await webhooks.listDeliveriesPage({ cursor: cursor ?? undefined });
  const delivery = await webhooks.getDelivery(items[0]?.id ?? testId);
  await webhooks.replayDelivery(delivery.id).catch(() => undefined);
  const { results } = await webhooks.replaySelectedDeliveries([delivery.id]);
  if (results[0]?.id !== delivery.id) throw new Error("Each selected delivery has a result");
  await webhooks.deleteEndpoint(id);
}

async function callTestMode(options: ClientOptions, { apiKeys }: Waymark): Promise<void> {
  const { secret } = await apiKeys.create({ name: "Tests", mode: "test", organization_type: "agent" });
  if (secret === null) throw new Error("A new key has a secret");
  const { test } = new Waymark({ ...options, apiKey: secret });
  const [job] = await test.createJobs({ template: { weight: 8.25 } });
  if (!job) throw new Error("A job was created");
  const { steps } = await test.run(job.marking_number, { path: "cancelled" });
  if (steps.at(-1) !== "cancelled") throw new Error("The path ends with its name");
  const { contractor } = await test.reassignJob(job.marking_number, { assigned: false });
  if (contractor !== null) throw new Error("The job was taken away");
  const { steps: left } = await test.cancelRun(job.marking_number);
  if (left.at(-1) !== "cancelled") throw new Error("The last step was not applied");
  await test.sendEvent("job.updated").catch((error: unknown) => {
    if (!(error instanceof ConflictError)) throw error;
  });
  await test.reset().catch((error: unknown) => {
    if (!(error instanceof ConflictError)) throw error;
  });
}

async function callAccount({ account, apiKeys }: Waymark): Promise<void> {
  const { organization, api_key: own } = await account.getMe();
  if (organization.id === "") throw new Error("An organization has an ID");
  const { api_key: created, secret } = await apiKeys.create({
    name: "Nightly export",
    scopes: ["jobs:read"],
  });
  if (secret === null) throw new Error("A new key has a secret");
  const keys = await apiKeys.list();
  if (!keys.some(({ id }) => id === own.id)) throw new Error("The list has the key of the client");
  const { api_key: next } = await apiKeys.rotate(created.id, { grace_hours: 0 });
  await apiKeys.revoke(next.id, { include_created_keys: true });
  for await (const { request_id: id } of account.listRequests({ outcome: "succeeded" })) id.trim();
  const { requestId } = await account.listRequestsPage({ page_size: 1 }).withResponse();
  // A request is written to the log a moment after its response.
  await account.getRequest(requestId ?? "").catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
  });
}
