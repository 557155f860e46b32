/** People at the console: they sign in, look around and mostly sign out. */
import type { HttpClient, HttpReply } from "./http-client.ts";
import type { SoakUser } from "./dataset.ts";

export interface ConsoleUsers {
  visit(): Promise<void>;
}

/** Some leave without signing out, and their sessions stay. */
const SIGN_OUT_SHARE = 0.8;
const DASHBOARD_QUERY = JSON.stringify({
  query: `query Look {
    viewer { kind organization { name } }
    jobStats(groupBy: [STATUS]) { total groups { count } }
    webhookEndpoints { id status }
  }`,
});

export function createConsoleUsers(calls: HttpClient, people: readonly SoakUser[]): ConsoleUsers {
  let turn = 0;
  return {
    async visit() {
      turn += 1;
      const person = people[turn % people.length] as SoakUser;
      const browser = createCookieClient(calls);
      await browser.send("POST", "/auth/sign-in", JSON.stringify(person));
      await browser.send("GET", "/auth/session");
      const { errors } = JSON.parse(await browser.send("POST", "/graphql", DASHBOARD_QUERY)) as {
        errors?: unknown;
      };
      if (errors !== undefined) throw new Error(`GraphQL: ${JSON.stringify(errors).slice(0, 300)}`);
      if (Math.random() < SIGN_OUT_SHARE) await browser.send("POST", "/auth/sign-out");
    },
  };
}

interface CookieClient {
  /** Answers with the body; throws where the status is not 200. */
  send(method: "GET" | "POST", path: string, body?: string): Promise<string>;
}

function createCookieClient(calls: HttpClient): CookieClient {
  const jar = new Map<string, string>();
  return {
    async send(method, path, body) {
      // What a browser says of a page of the same site.
      const cookie = Array.from(jar, ([name, value]) => `${name}=${value}`).join("; ");
      const headers = { origin: calls.url, ...(cookie !== "" && { cookie }) };
      const reply = await calls.send({ method, path, ...(body !== undefined && { body }) }, headers);
      if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.body.slice(0, 200)}`);
      storeCookies(jar, reply);
      return reply.body;
    },
  };
}

function storeCookies(jar: Map<string, string>, { headers }: HttpReply): void {
  for (const text of [headers["set-cookie"] ?? []].flat()) {
    const [pair = "", ...attributes] = text.split("; ");
    const [name, value] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    if (attributes.includes("Max-Age=0")) jar.delete(name);
    else jar.set(name, value);
  }
}
