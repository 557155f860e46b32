/** PostGraphile 5 on the same tables, with its production preset, on node:http, without authentication and without a log. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/node";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { pgSmartTags } from "postgraphile/utils";

/** Declares the relation between events and jobs, which has no foreign key. */
const eventsOfJobs = pgSmartTags({
  kind: "class",
  match: "public.job_event",
  tags: { foreignKey: "(job_id) references job (id)" },
});

const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [eventsOfJobs],
  pgServices: [
    makePgService({
      connectionString: process.env["DATABASE_URL"] as string,
      schemas: ["public"],
      poolConfig: { max: 10, application_name: "postgraphile", options: "-c timezone=UTC" },
    }),
  ],
  grafast: { explain: false },
  grafserv: { graphiql: false, watch: false, websockets: false, outputDataAsString: true },
});

const server = createServer();
await instance.createServ(grafserv).addTo(server);
server.listen(0, "127.0.0.1", () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
process.once("disconnect", () => {
  server.closeAllConnections();
  server.close();
  void instance.release();
});
