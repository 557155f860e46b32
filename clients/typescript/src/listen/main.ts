#!/usr/bin/env node
/** The command `listen` of the package: prints each event, and posts it to the developer's machine, signed like a webhook. */
import process from "node:process";
import { Waymark } from "../client.ts";
import { WaymarkError } from "../errors.ts";
import { newSecret } from "../signature.ts";
import { HELP, parseArguments, UsageError, type ListenArguments } from "./arguments.ts";
import { describe, forward, printable } from "./forward.ts";

async function listen(
  { apiKey, baseUrl, forwardTo, types, secret }: ListenArguments,
  signal: AbortSignal,
): Promise<void> {
  const waymark = new Waymark({ apiKey, baseUrl });
  const signingSecret = secret ?? newSecret();
  // Fails at once if the key or the URL is wrong.
  const { next_cursor: after } = await waymark.events.listPage({ after: "latest" }, { signal });
  if (forwardTo === null) print(`Printing new events of ${baseUrl}. Press Ctrl-C to end.`);
  else {
    print(`Signing secret: ${signingSecret}`);
    print(`Posting new events of ${baseUrl} to ${forwardTo}. Press Ctrl-C to end.`);
  }
  const onRetry = (error: Error, delayMs: number): void =>
    print(`${error.message}. Trying again in ${Math.round(delayMs / 1_000)} s.`);
  const onGone = (): "oldest" => {
    print("Events of more than 30 days ago have left the feed. Continuing with the oldest event.");
    return "oldest";
  };
  const pages = waymark.events.followPages({ after, types, signal, pollIntervalMs: 1_000, onGone, onRetry });
  for await (const { events } of pages)
    for (const event of events)
      if (forwardTo === null) print(`${describe(event)}  ${printable(JSON.stringify(event.data.changes))}`);
      else await forward(event, { url: forwardTo, secret: signingSecret, signal, print });
}

async function main(): Promise<void> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  process.once("SIGINT", end).once("SIGTERM", end);
  try {
    const parsed = parseArguments(process.argv.slice(2), process.env);
    if (parsed === "help") print(HELP);
    else await listen(parsed, stop.signal);
  } catch (error) {
    if (stop.signal.aborted) return;
    if (!(error instanceof UsageError || error instanceof WaymarkError || error instanceof RangeError))
      throw error;
    process.stderr.write(`${error.message}\n${error instanceof UsageError ? `\n${HELP}\n` : ""}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
