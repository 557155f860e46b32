/** The real shape (bench/cluster), and the test's own hands in its databases. */
import { inject } from "vitest";
import { startCluster, type Cluster } from "../../../bench/cluster/cluster.ts";
import type { Member } from "../../../bench/cluster/member.ts";
import { createApiClient, startAppInstance } from "../app/app-instance.ts";
import { TEST_SECRET } from "../test-secret.ts";
import { createFactories, type TestApp } from "../app/app.fixture.ts";

type ClusterApiClient = ReturnType<typeof createApiClient>;

export interface TestCluster extends Cluster {
  /** Requests to each API, around the balancer. */
  readonly apiClients: readonly [ClusterApiClient, ClusterApiClient];
  /** The service in this process too, which makes what is there before anybody asks. */
  readonly app: TestApp;
}

/** `env` are settings of every process. */
export async function startTestCluster(env: Record<string, string> = {}): Promise<TestCluster> {
  await using stack = new AsyncDisposableStack();
  const mongodBinary = inject("mongodBinary");
  const cluster = stack.use(await startCluster({ mongodBinary, secret: TEST_SECRET, env }));
  const { databaseUrl } = cluster;
  const instance = stack.use(await startAppInstance(databaseUrl, { WAYMARK_ROLE: "api" }));
  const [one, two] = cluster.apis.map(({ url }) => createApiClient(url)) as [
    ClusterApiClient,
    ClusterApiClient,
  ];
  const resources = stack.move();
  return {
    ...cluster,
    apiClients: [one, two],
    app: { ...instance, ...createFactories(instance), databaseUrl },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Ends a member in good order and puts another in its place. */
export async function restartMember(member: Member): Promise<number | string | null> {
  const code = await member.stop();
  await member.start();
  return code;
}
