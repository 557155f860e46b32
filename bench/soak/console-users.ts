/** Simulated console users: they sign in, load the dashboard and in most cases sign out. */
import type { HttpClient, HttpReply } from "./http-client.ts";
import type { SoakUser } from "./dataset.ts";

export interface ConsoleUsers {
  visit(): Promise<void>;
}

/** The other users leave without signing out, and their sessions stay open. */
const SIGN_OUT_SHARE = 0.8;
const DASHBOARD_QUERY = JSON.stringify({
  query: `query Look {
    viewer { kind organization { name } }
    jobStats(groupBy: [STATUS]) { total groups { count } }
    webhookEndpoints { id status }
  }`,
});

export function createConsoleUsers(client: HttpClient, people: readonly SoakUser[]): ConsoleUsers {
  let turn = 0;
  return {
    async visit() {
      turn += 1;
      const person = people[turn % people.length] as SoakUser;
      const browser = createCookieClient(client);
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
  /** Returns the body; throws if the status is not 200. */
  send(method: "GET" | "POST", path: string, body?: string): Promise<string>;
}

function createCookieClient(client: HttpClient): CookieClient {
  const jar = new Map<string, string>();
  return {
    async send(method, path, body) {
      // A browser sends its cookies and the page's own origin.
      const cookie = Array.from(jar, ([name, value]) => `${name}=${value}`).join("; ");
      const headers = { origin: client.url, ...(cookie !== "" && { cookie }) };
      const reply = await client.send({ method, path, ...(body !== undefined && { body }) }, headers);
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
