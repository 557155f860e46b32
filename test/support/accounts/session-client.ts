/** Creates users of an app under test, signs them in over HTTP and sends requests with their session cookies. */
import { argon2Sync, randomBytes } from "node:crypto";
import { insertUser } from "../../../src/accounts/user.service.ts";
import type { UserRole } from "../../../src/organizations/user.entity.ts";
import { expectData } from "../app/assertions.ts";
import type { ApiResponse, AppInstance, RequestOptions } from "../app/app-instance.ts";
import { randomClientIpHeader } from "./mails.ts";
import { totpCode } from "./totp.ts";

export interface Credentials {
  email: string;
  password: string;
}

export interface TestUser extends Credentials {
  /** A UUID. */
  id: string;
  name: string;
}

/**
 * A client that keeps cookies and sends the app's own origin, like a browser. Behind TRUST_PROXY each client has its own IP
 * address, because attempts are limited per address.
 */
export interface SessionClient {
  /** The value of the Cookie header. */
  cookie: string;
  call(path: string, options?: RequestOptions): Promise<ApiResponse>;
  get(path: string): Promise<ApiResponse>;
  post(path: string, body?: object): Promise<ApiResponse>;
  send(method: string, path: string, body?: object): Promise<ApiResponse>;
}

export const VALID_PASSWORD = "a heron waits at the weir";

/** A hash with the least memory and passes: the product's takes 30 ms of CPU time at each sign-in. */
const QUICK_HASH = hashQuickly(VALID_PASSWORD);

/**
 * Creates a user of an organisation (a UUID), or an operator if `organizationId` is null. Tests of how passwords are stored
 * or how long a sign-in takes use `accounts.users.createUser`.
 */
export async function createTestUser(
  app: Pick<AppInstance, "database">,
  { organizationId, role }: { organizationId: string | null; role: UserRole },
): Promise<TestUser> {
  const name = `Person ${randomBytes(4).toString("hex")}`;
  const email = `${name.toLowerCase().replace(" ", ".")}@test.example`;
  const user = { email, name, passwordHash: QUICK_HASH, organizationId, role };
  const id = await app.database.transaction((tx) => insertUser(tx, user));
  return { id, email, name, password: VALID_PASSWORD };
}

/** Creates a client with an initial Cookie header value. */
export function createSessionClient(app: Pick<AppInstance, "call" | "url">, cookie = ""): SessionClient {
  const clientIp = randomClientIpHeader();
  const client: SessionClient = {
    cookie,
    async call(path, options = {}) {
      const cookies = client.cookie === "" ? {} : { cookie: client.cookie };
      const headers = { ...clientIp, origin: app.url, ...options.headers, ...cookies };
      const response = await app.call(path, { ...options, headers });
      client.cookie = mergeCookies(client.cookie, response.headers.getSetCookie());
      return response;
    },
    get: (path) => client.call(path),
    post: (path, body) => client.send("POST", path, body),
    send: (method, path, body) => client.call(path, { method, ...(body && { body: JSON.stringify(body) }) }),
  };
  return client;
}

/** Signs a user in and returns the client. Throws if the user has two-factor authentication. */
export async function signIn(
  app: Pick<AppInstance, "call" | "url">,
  { email, password }: Credentials,
): Promise<SessionClient> {
  const client = createSessionClient(app);
  const { twoFactorRedirect } = expectData(await client.post("/auth/sign-in/email", { email, password }));
  if (twoFactorRedirect) throw new Error("The user has two-factor authentication");
  return client;
}

export interface TwoFactorSetup {
  /** The `otpauth:` URI for the authenticator app. */
  uri: string;
  /** The code used for set-up, which cannot be used again. The next period's code is already accepted. */
  confirmationCode: string;
  recoveryCodes: string[];
}

/** Enables two-factor authentication with a code of the current period. */
export async function enableTwoFactor(
  client: SessionClient,
  { password }: Pick<Credentials, "password">,
): Promise<TwoFactorSetup> {
  const { totpURI: uri, backupCodes: recoveryCodes } = expectData(
    await client.post("/auth/two-factor/enable", { password }),
  );
  const confirmationCode = totpCode(uri);
  expectData(await client.post("/auth/two-factor/verify-totp", { code: confirmationCode }));
  return { uri, confirmationCode, recoveryCodes };
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

/** Returns an argon2id PHC string, whose parameters the product uses to verify the password. */
function hashQuickly(message: string): string {
  const nonce = randomBytes(16);
  const hash = argon2Sync("argon2id", {
    message,
    nonce,
    memory: 8,
    passes: 1,
    parallelism: 1,
    tagLength: 32,
  });
  const [salt, tag] = [nonce, hash].map((bytes) => bytes.toString("base64").replaceAll("=", ""));
  return `$argon2id$v=19$m=8,t=1,p=1$${salt}$${tag}`;
}
