/** The data of the soak: organisations with jobs, endpoints with receivers of every behaviour, and console users. */
import { createApp } from "../../src/app/app.ts";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { fromTypedId } from "../../src/platform/ids.ts";
import { openMongo } from "../../src/platform/mongo.ts";
import { systemActor } from "../../src/platform/principal.ts";
import { createSecretBox } from "../../src/platform/secret-box.ts";
import { raiseRateLimits } from "../rate-limits.ts";
import { issueKeys, rebuildJobCounters, seed, type BenchOrganization } from "../seed.ts";
import { ENDPOINTS, JOBS, USER_PASSWORD, USER_COUNT, type Behaviour } from "./plan.ts";
import { soakSecret, type SoakProcesses } from "./processes.ts";

export interface SoakEndpoint {
  /** The uuid. */
  id: string;
  organizationId: string;
  behaviour: Behaviour;
  secret: string;
}

export interface SoakUser {
  email: string;
  password: string;
}

export interface SoakDataset {
  organizations: BenchOrganization[];
  endpoints: SoakEndpoint[];
  users: SoakUser[];
  seededAt: Date;
}

/** Creates endpoints and users through the services; jobs are inserted directly. */
export async function createSoakDataset(
  { client, cluster: { databaseUrl, mongoUrl } }: SoakProcesses,
  receiverUrl: string,
): Promise<SoakDataset> {
  await seed(client, JOBS, () => undefined);
  await rebuildJobCounters(client);
  const settings = {
    DATABASE_URL: databaseUrl,
    WAYMARK_ROLE: "api",
    WEBHOOK_ALLOW_PRIVATE: "on",
    LOG_LEVEL: "error",
  };
  const config = toConfig(readEnv(settings));
  await using mongo = openMongo({ url: mongoUrl });
  await using app = await createApp(config, { databaseUrl, mongo, secretBox: createSecretBox(soakSecret) });
  await client.query("vacuum analyze");
  const organizations = await issueKeys(client);
  await raiseRateLimits(client);
  const endpoints: SoakEndpoint[] = [];
  for (const [number, { behaviour, organizationRank }] of ENDPOINTS.entries()) {
    const { id: organizationId } = organizations[organizationRank] as BenchOrganization;
    const url = `${receiverUrl}/${behaviour}/${number}`;
    const owner = { organizationId, actor: systemActor };
    const { endpoint, secret } = await app.webhooks.endpoints.create(owner, { url });
    endpoints.push({ id: fromTypedId("whe", endpoint.id) ?? "", organizationId, behaviour, secret });
  }
  const users: SoakUser[] = [];
  for (let number = 1; number <= USER_COUNT; number += 1) {
    const person = { email: `person-${number}@soak.example`, password: USER_PASSWORD };
    const { id: organizationId } = organizations[number] as BenchOrganization;
    const user = { ...person, name: `Person ${number}`, organizationId, role: "owner" } as const;
    await app.database.transaction((tx) => app.accounts.users.createUser(tx, user));
    users.push(person);
  }
  return { organizations, endpoints, users, seededAt: new Date() };
}
