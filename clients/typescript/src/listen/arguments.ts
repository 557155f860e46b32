/** The command line of `listen`. */
import { parseArgs } from "node:util";
import { VERSION, type Operations } from "../generated/api.ts";
import { isSecret } from "../signature.ts";

const PACKAGE = `waymark-client-${VERSION}.tgz`;

export const HELP = `Usage: npx https://SERVICE/sdk/${PACKAGE} listen [options]

Follows the events feed and prints each event. With --forward-to, it also posts each event
to URL, as a webhook would: the same headers and body, signed with a secret that it prints.

Options:
  --forward-to URL  Where to post events, such as http://127.0.0.1:3000/webhooks
  --key KEY         API key with the scope jobs:read. Default: WAYMARK_KEY
  --base-url URL    The service. Default: WAYMARK_URL, else http://127.0.0.1:4000
  --types TYPES     Only these event types, separated by commas. Default: all
  --secret SECRET   Sign with this secret. Default: WAYMARK_WEBHOOK_SECRET, else a new one
  --help            Print this text

Only events from now on count. If the receiver answers, with any status, or takes
longer than 15 s, the result is printed and the next event follows. While the receiver
refuses or closes the connection, the event is posted again, so it can arrive twice.
Press Ctrl-C to end.`;

const SECRET_VARIABLE = "WAYMARK_WEBHOOK_SECRET";

export interface ListenArguments {
  /** Null: events are only printed. */
  forwardTo: string | null;
  apiKey: string;
  baseUrl: string;
  /** The server checks them. */
  types: Operations["listEvents"]["query"]["types"];
  /** Null for a new one. */
  secret: string | null;
}

/** The user can fix it: `message` says how. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Returns "help" if the user asks for it. Throws a UsageError. */
export function parseArguments(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ListenArguments | "help" {
  const { values, positionals } = parse(args);
  const [command, ...rest] = positionals;
  if (values.help === true || (command === undefined && args.length === 0)) return "help";
  if (command !== "listen") throw new UsageError(`The command must be listen, got ${command ?? "none"}`);
  if (rest.length > 0) throw new UsageError(`listen takes only options, got ${rest.join(" ")}`);
  const apiKey = values.key ?? env["WAYMARK_KEY"] ?? "";
  if (apiKey === "") throw new UsageError("Set WAYMARK_KEY or pass --key");
  return {
    forwardTo: values["forward-to"] === undefined ? null : httpUrl("--forward-to", values["forward-to"]),
    apiKey,
    baseUrl: httpUrl("--base-url", values["base-url"] ?? env["WAYMARK_URL"] ?? "http://127.0.0.1:4000"),
    types: values.types?.split(",") as ListenArguments["types"],
    secret: secretOf("--secret", values.secret) ?? secretOf(SECRET_VARIABLE, env[SECRET_VARIABLE]),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        "forward-to": { type: "string" },
        key: { type: "string" },
        "base-url": { type: "string" },
        types: { type: "string" },
        secret: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Returns null if it is not set. The error does not repeat the secret. */
function secretOf(source: string, value: string | undefined): string | null {
  if (value === undefined) return null;
  if (!isSecret(value)) throw new UsageError(`${source} must be whsec_ and the base64 of 24 to 64 bytes`);
  return value;
}

function httpUrl(option: string, value: string): string {
  if (!URL.canParse(value) || !/^https?:/.test(value))
    throw new UsageError(`${option} must be a URL with http or https, got ${JSON.stringify(value)}`);
  return value;
}
