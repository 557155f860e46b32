/** The cluster of bench/cluster with a load balancer, plus an app instance in the test's process for direct access. */
import { inject } from "vitest";
import { startCluster } from "../../../bench/cluster/cluster.ts";
import type { Member } from "../../../bench/cluster/member.ts";
import { findFreePort } from "../../../bench/cluster/process.ts";
import { createApiClient, startAppInstance } from "../app/app-instance.ts";
import { TEST_SECRET } from "../test-secret.ts";
import { createFactories } from "../app/app.fixture.ts";
import { startBalancer } from "./balancer.ts";

type ClusterApiClient = ReturnType<typeof createApiClient>;

export type TestCluster = Awaited<ReturnType<typeof startTestCluster>>;

/** `env` has settings for every process. */
export async function startTestCluster(env: Record<string, string> = {}) {
  await using stack = new AsyncDisposableStack();
  const mongodBinary = inject("mongodBinary");
  const port = await findFreePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const cluster = stack.use(await startCluster({ mongodBinary, secret: TEST_SECRET, env, publicUrl }));
  const backends = cluster.apis.map(({ url }) => url);
  const balancer = stack.use(await startBalancer(backends, port));
  const { databaseUrl } = cluster;
  const instance = stack.use(await startAppInstance(databaseUrl, { WAYMARK_ROLE: "api" }));
  const [first, second] = cluster.apis.map(({ url }) => createApiClient(url)) as [
    ClusterApiClient,
    ClusterApiClient,
  ];
  const resources = stack.move();
  return {
    ...cluster,
    /** The balancer's URL. */
    url: publicUrl,
    balancer,
    /** Clients of each API server, without the load balancer. */
    apiClients: [first, second] as const,
    /** An app instance in this process on the cluster's database, which creates test data. */
    app: { ...instance, ...createFactories(instance), databaseUrl },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Stops a member gracefully, starts it again and returns the exit code. */
export async function restartMember(member: Member): Promise<number | string | null> {
  const code = await member.stop();
  await member.start();
  return code;
}
