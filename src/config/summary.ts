/** What a person who started the server reads first. */
import type { Config } from "./config.ts";

/** The addresses, the demo's keys and a request to begin with. */
export function banner(
  config: Config,
  url: string,
  demo: { agent: string; contractor: string; operator: string } | null,
  mongo: { state: string },
): string {
  const base = config.http.publicUrl ?? url;
  const lines = [
    "",
    "  Waymark is up.",
    "",
    `  API        ${base}/v1`,
    `  Reference  ${base}/docs`,
    `  GraphQL    ${base}/graphql   (to explore it: ${base}/graphiql)`,
    `  Health     ${base}/health/ready`,
    `  Database   ${config.database.url === null ? `PostgreSQL in ${config.dataDir}` : "DATABASE_URL"}`,
    `  Tasks      ${tasksIn(config, mongo.state)}`,
  ];
  if (demo) {
    lines.push(
      "",
      `  Demo agent key       ${demo.agent}`,
      `  Demo contractor key  ${demo.contractor}`,
      `  Demo operator key    ${demo.operator}`,
      "",
      "  Try it:",
      `  curl -H "x-api-key: ${demo.agent}" "${base}/v1/jobs?page_size=2"`,
      "  npx waymark listen   (in another terminal: shows each change as the webhook that it becomes)",
    );
  }
  return `${lines.join("\n")}\n\n`;
}

/** Where it is kept what is to be done later. */
function tasksIn({ mongo, dataDir }: Config, state: string): string {
  if (mongo.url !== null) return "MONGODB_URL";
  return state === "absent"
    ? "no MongoDB: what has to be sent again waits until there is one"
    : `MongoDB in ${dataDir}`;
}
