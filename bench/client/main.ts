/** `npm run bench:client`: CPU time of a call of the TypeScript client next to a bare `fetch` of the same request. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { median, rotate } from "../deliveries/protocol.ts";
import { Waymark } from "../../clients/typescript/src/index.ts";

const CALLS = 1_000;
const ROUNDS = 30;
const WARM_UP_ROUNDS = 3;
const BUDGET_US = 50;

const server = fork(new URL("server.ts", import.meta.url));
const [port] = (await once(server, "message")) as [number];
const baseUrl = `http://127.0.0.1:${port}`;
const waymark = new Waymark({ apiKey: "wm_key", baseUrl });
const patch = { normalized_status: "completed", instructions: null };

async function bareFetch(): Promise<unknown> {
  const response = await fetch(`${baseUrl}/v1/jobs/by-marking/MN-1`, {
    method: "PATCH",
    headers: { "x-api-key": "wm_key", "content-type": "application/json", "idempotency-key": "key" },
    body: JSON.stringify(patch),
  });
  const { data } = (await response.json()) as { data: unknown };
  return data;
}

/** Returns the CPU time of this process per call in µs. One call follows the other. */
async function measure(call: () => PromiseLike<unknown>): Promise<number> {
  const start = process.cpuUsage();
  for (let index = 0; index < CALLS; index += 1) await call();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / CALLS;
}

const client = { call: () => waymark.jobs.update("MN-1", patch), times: [] as number[] };
const bare = { call: bareFetch, times: [] as number[] };
const sides: { call: () => PromiseLike<unknown>; times: number[] }[] = [client, bare];
for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
  for (const side of rotate(sides, round)) {
    const time = await measure(side.call);
    if (round >= WARM_UP_ROUNDS) side.times.push(time);
  }
}
server.kill();

const difference = median(client.times.map((time, round) => time - (bare.times[round] ?? NaN)));
const text = (values: readonly number[]): string =>
  `median ${Math.round(median(values))} µs, least ${Math.round(Math.min(...values))} µs`;
console.log(`CPU per call in ${ROUNDS} rounds of ${CALLS} calls:`);
console.log(`bare fetch: ${text(bare.times)}`);
console.log(`client: ${text(client.times)}`);
console.log(`median difference of a round: ${Math.round(difference)} µs, budget ${BUDGET_US} µs`);
if (difference > BUDGET_US) process.exitCode = 1;
