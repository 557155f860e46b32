/** The real shape (bench/cluster), and the test's own hands in its databases. */
import { inject } from "vitest";
import { startCluster, type Cluster } from "../../bench/cluster/cluster.ts";
import type { Member } from "../../bench/cluster/member.ts";
import { doorOf, startInstance } from "./instance.ts";
import { TEST_SECRET } from "./secret.ts";
import { makersOf, type TestApp } from "./start-app.ts";

type Door = ReturnType<typeof doorOf>;

export interface TestCluster extends Cluster {
  /** Requests to each API, around the balancer. */
  readonly doors: readonly [Door, Door];
  /** The service in this process too, which makes what is there before anybody asks. */
  readonly hands: TestApp;
}

/** `env` are settings of every process. */
export async function startTestCluster(env: Record<string, string> = {}): Promise<TestCluster> {
  await using opened = new AsyncDisposableStack();
  const mongodBinary = inject("mongodBinary");
  const cluster = opened.use(await startCluster({ mongodBinary, secret: TEST_SECRET, env }));
  const { databaseUrl } = cluster;
  const instance = opened.use(await startInstance(databaseUrl, { WAYMARK_ROLE: "api" }));
  const [one, two] = cluster.apis.map(({ url }) => doorOf(url)) as [Door, Door];
  const held = opened.move();
  return {
    ...cluster,
    doors: [one, two],
    hands: { ...instance, ...makersOf(instance), databaseUrl },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Ends a member in good order and puts another in its place. */
export async function replace(member: Member): Promise<number | string | null> {
  const code = await member.stop();
  await member.start();
  return code;
}
