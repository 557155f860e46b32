/** People of an app under test: made, signed in by HTTP as a browser does it, and asking with their cookie. */
import { randomBytes } from "node:crypto";
import type { UserRole } from "../../src/accounts/user.entity.ts";
import { expectData } from "./answers.ts";
import type { Answer, Instance } from "./instance.ts";
import { totpCode } from "./totp.ts";

export interface Person {
  /** A uuid. */
  id: string;
  email: string;
  password: string;
  name: string;
}

/** A browser: it has cookies, and says of each request that a page of the same site sends it. */
export interface Browser {
  /** As the header would have them. */
  cookie: string;
  call(path: string, init?: RequestInit): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body?: object): Promise<Answer>;
  send(method: string, path: string, body?: object): Promise<Answer>;
}

export const GOOD_PASSWORD = "a heron waits at the weir";

/** Makes a person; an operator where `organizationId` (a uuid) is null. */
export async function makePerson(
  app: Pick<Instance, "accounts" | "database">,
  { organizationId, role }: { organizationId: string | null; role: UserRole },
): Promise<Person> {
  const name = `Person ${randomBytes(4).toString("hex")}`;
  const email = `${name.toLowerCase().replace(" ", ".")}@test.example`;
  const person = { email, name, password: GOOD_PASSWORD, organizationId, role };
  const id = await app.database.transaction((tx) => app.accounts.createUser(tx, person));
  return { id, email, name, password: GOOD_PASSWORD };
}

/** A browser without cookies, or with these. */
export function openBrowser(app: Pick<Instance, "call" | "url">, cookie = ""): Browser {
  const browser: Browser = {
    cookie,
    async call(path, init = {}) {
      const headers = new Headers({ origin: app.url, ...Object.fromEntries(new Headers(init.headers)) });
      if (browser.cookie !== "") headers.set("cookie", browser.cookie);
      const answer = await app.call(path, { ...init, headers });
      browser.cookie = withCookies(browser.cookie, answer.headers.getSetCookie());
      return answer;
    },
    get: (path) => browser.call(path),
    post: (path, body) => browser.send("POST", path, body),
    send: (method, path, body) => browser.call(path, { method, ...(body && { body: JSON.stringify(body) }) }),
  };
  return browser;
}

/** A browser in which the person has signed in, without a second factor. */
export async function signIn(
  app: Pick<Instance, "call" | "url">,
  { email, password }: Pick<Person, "email" | "password">,
): Promise<Browser> {
  const browser = openBrowser(app);
  const data = expectData(await browser.post("/auth/sign-in", { email, password }));
  if (data.second_factor_required) throw new Error("This person has a second factor");
  return browser;
}

export interface SecondFactor {
  /** The `otpauth:` address that an app is shown. */
  uri: string;
  /** The code that it was turned on with, of now: the one after it is good already, and fresh. */
  confirmedWith: string;
  recoveryCodes: string[];
}

/** Turns the person's second factor on, as an app in their hand does it. */
export async function turnOnSecondFactor(
  browser: Browser,
  { password }: Pick<Person, "password">,
): Promise<SecondFactor> {
  const { totp_uri: uri } = expectData(await browser.post("/auth/two-factor/begin", { password }));
  const confirmedWith = totpCode(uri);
  const confirmed = await browser.post("/auth/two-factor/confirm", { code: confirmedWith });
  return { uri, confirmedWith, recoveryCodes: expectData(confirmed).recovery_codes };
}

function withCookies(cookie: string, setCookies: readonly string[]): string {
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
