/** People of an app under test: made, signed in by HTTP as a browser does it, and asking with their cookie. */
import { randomBytes } from "node:crypto";
import type { UserRole } from "../../../src/organizations/user.entity.ts";
import { expectData } from "../app/assertions.ts";
import type { ApiResponse, AppInstance } from "../app/app-instance.ts";
import { totpCode } from "./totp.ts";

export interface TestUser {
  /** A uuid. */
  id: string;
  email: string;
  password: string;
  name: string;
}

/** A browser: it has cookies, and says of each request that a page of the same site sends it. */
export interface SessionClient {
  /** As the header would have them. */
  cookie: string;
  call(path: string, init?: RequestInit): Promise<ApiResponse>;
  get(path: string): Promise<ApiResponse>;
  post(path: string, body?: object): Promise<ApiResponse>;
  send(method: string, path: string, body?: object): Promise<ApiResponse>;
}

export const VALID_PASSWORD = "a heron waits at the weir";

/** Makes a person; an operator where `organizationId` (a uuid) is null. */
export async function createTestUser(
  app: Pick<AppInstance, "accounts" | "database">,
  { organizationId, role }: { organizationId: string | null; role: UserRole },
): Promise<TestUser> {
  const name = `Person ${randomBytes(4).toString("hex")}`;
  const email = `${name.toLowerCase().replace(" ", ".")}@test.example`;
  const person = { email, name, password: VALID_PASSWORD, organizationId, role };
  const id = await app.database.transaction((tx) => app.accounts.createUser(tx, person));
  return { id, email, name, password: VALID_PASSWORD };
}

/** A browser without cookies, or with these. */
export function createSessionClient(app: Pick<AppInstance, "call" | "url">, cookie = ""): SessionClient {
  const client: SessionClient = {
    cookie,
    async call(path, init = {}) {
      const headers = new Headers({ origin: app.url, ...Object.fromEntries(new Headers(init.headers)) });
      if (client.cookie !== "") headers.set("cookie", client.cookie);
      const answer = await app.call(path, { ...init, headers });
      client.cookie = mergeCookies(client.cookie, answer.headers.getSetCookie());
      return answer;
    },
    get: (path) => client.call(path),
    post: (path, body) => client.send("POST", path, body),
    send: (method, path, body) => client.call(path, { method, ...(body && { body: JSON.stringify(body) }) }),
  };
  return client;
}

/** A browser in which the person has signed in, without a second factor. */
export async function signIn(
  app: Pick<AppInstance, "call" | "url">,
  { email, password }: Pick<TestUser, "email" | "password">,
): Promise<SessionClient> {
  const client = createSessionClient(app);
  const data = expectData(await client.post("/auth/sign-in", { email, password }));
  if (data.two_factor_required) throw new Error("This person has a second factor");
  return client;
}

export interface TwoFactorSetup {
  /** The `otpauth:` address that an app is shown. */
  uri: string;
  /** The code that it was turned on with, of now: the one after it is good already, and fresh. */
  confirmationCode: string;
  recoveryCodes: string[];
}

/** Turns the person's second factor on, as an app in their hand does it. */
export async function enableTwoFactor(
  client: SessionClient,
  { password }: Pick<TestUser, "password">,
): Promise<TwoFactorSetup> {
  const { totp_uri: uri } = expectData(await client.post("/auth/two-factor/begin", { password }));
  const confirmationCode = totpCode(uri);
  const confirmed = await client.post("/auth/two-factor/confirm", { code: confirmationCode });
  return { uri, confirmationCode, recoveryCodes: expectData(confirmed).recovery_codes };
}

function mergeCookies(cookie: string, setCookies: readonly string[]): string {
  const jar = new Map(
    cookie
      .split("; ")
      .filter((pair) => pair !== "")
      .map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
  );
  for (const text of setCookies) {
    const [pair = "", ...attributes] = text.split("; ");
    const [name, value] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    if (attributes.includes("Max-Age=0")) jar.delete(name);
    else jar.set(name, value);
  }
  return Array.from(jar, ([name, value]) => `${name}=${value}`).join("; ");
}
