/** People at the console: they sign in, look around and mostly sign out. */
import type { Calls, Reply } from "./calls.ts";
import type { SoakPerson } from "./world.ts";

export interface Visits {
  make(): Promise<void>;
}

/** Some leave without signing out, and their sessions stay. */
const SIGNS_OUT = 0.8;
const LOOK = JSON.stringify({
  query: `query Look {
    viewer { kind organization { name } }
    jobStats(groupBy: [STATUS]) { total groups { count } }
    webhookEndpoints { id status }
  }`,
});

export function createVisits(calls: Calls, people: readonly SoakPerson[]): Visits {
  let turn = 0;
  return {
    async make() {
      turn += 1;
      const person = people[turn % people.length] as SoakPerson;
      const browser = openBrowser(calls);
      await browser.send("POST", "/auth/sign-in", JSON.stringify(person));
      await browser.send("GET", "/auth/session");
      const { errors } = JSON.parse(await browser.send("POST", "/graphql", LOOK)) as { errors?: unknown };
      if (errors !== undefined) throw new Error(`GraphQL: ${JSON.stringify(errors).slice(0, 300)}`);
      if (Math.random() < SIGNS_OUT) await browser.send("POST", "/auth/sign-out");
    },
  };
}

interface Browser {
  /** Answers with the body; throws where the status is not 200. */
  send(method: "GET" | "POST", path: string, body?: string): Promise<string>;
}

function openBrowser(calls: Calls): Browser {
  const jar = new Map<string, string>();
  return {
    async send(method, path, body) {
      // What a browser says of a page of the same site.
      const cookie = Array.from(jar, ([name, value]) => `${name}=${value}`).join("; ");
      const headers = { origin: calls.url, ...(cookie !== "" && { cookie }) };
      const reply = await calls.send({ method, path, ...(body !== undefined && { body }) }, headers);
      if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.body.slice(0, 200)}`);
      keepCookies(jar, reply);
      return reply.body;
    },
  };
}

function keepCookies(jar: Map<string, string>, { headers }: Reply): void {
  for (const text of [headers["set-cookie"] ?? []].flat()) {
    const [pair = "", ...attributes] = text.split("; ");
    const [name, value] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    if (attributes.includes("Max-Age=0")) jar.delete(name);
    else jar.set(name, value);
  }
}
