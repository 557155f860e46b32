/** graphile-worker, tuned: jobs are fetched into a local queue and completed in batches, one per delivery. */
import { Logger, makeWorkerUtils, run, type Runner } from "graphile-worker";
import pg from "pg";
import { openDeliverer, serveEngine, requireSetting } from "../deliveries/harness.ts";
import type { Message } from "../deliveries/protocol.ts";

const CONCURRENT_JOBS = 128;

const deliverer = await openDeliverer();
const logger = new Logger(() => () => undefined);
const utils = await makeWorkerUtils({ connectionString: requireSetting("DATABASE_URL"), logger });
await utils.migrate();
// graphile-worker requires both listeners on a pool that it did not create.
deliverer.pool
  .on("error", () => undefined)
  .on("connect", (client) => void client.on("error", () => undefined));
let runner: Runner | null = null;

serveEngine({
  async fill(count) {
    const client = new pg.Client({ connectionString: requireSetting("DATABASE_URL") });
    await client.connect();
    await client.query("set pg_stat_statements.track = 'none'");
    await client.query("truncate graphile_worker._private_jobs");
    await client.query(
      `select from graphile_worker.add_jobs(array(
        select row('deliver', json_build_object('endpoint', endpoint, 'id', id, 'body', body), null, null, null, null, null,
          null)::graphile_worker.job_spec
        from bench_message where n <= $1 order by n))`,
      [count],
    );
    await client.query("vacuum analyze graphile_worker._private_jobs");
    await client.end();
  },
  async start() {
    runner = await run({
      pgPool: deliverer.pool,
      taskList: { deliver: (payload) => deliverer.deliver(payload as Message) },
      noHandleSignals: true,
      preset: {
        worker: {
          concurrentJobs: CONCURRENT_JOBS,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
          pollInterval: 1_000,
          logger,
        },
      },
    });
  },
  async stop() {
    await runner?.stop();
  },
});
