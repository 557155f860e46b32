/**
 * Mercurius 16 with graphql-jit on Fastify 5, tuned for speed: Waymark's schema, one hand-written statement per operation, API
 * keys checked as in the baseline, no log.
 */
import Fastify from "fastify";
import mercurius from "mercurius";
import { readSdl } from "../../src/api/graphql/sdl.ts";
import { loadCallers } from "../baseline/api-keys.ts";
import { openPool } from "../baseline/pool.ts";
import type { BaselineCaller } from "../baseline/statements.ts";
import { queryDashboard } from "../graphql/baseline-resolver.ts";

const pool = openPool("mercurius");
const callerOf = await loadCallers(pool);

const app = Fastify();
await app.register(mercurius, {
  schema: readSdl(),
  jit: 1,
  context: (request) => ({ caller: callerOf(request) }),
  resolvers: {
    Query: {
      jobs: async (
        _root: unknown,
        { filter }: { filter: { normalizedStatus: { eq: string } } },
        context: object,
      ) => {
        const { caller } = context as { caller: BaselineCaller };
        return { nodes: await queryDashboard(pool, caller, filter.normalizedStatus.eq) };
      },
    },
  },
});
process.send?.({ url: await app.listen({ host: "127.0.0.1", port: 0 }) });
process.once("disconnect", () => {
  app.server.closeAllConnections();
  void app.close().then(() => pool.end());
});
