/** Starts the mirror, and stops it on SIGINT (Ctrl+C) and SIGTERM. */
import { Waymark } from "@waymark/client";
import { Mirror } from "./mirror.ts";
import { followChanges } from "./sync.ts";

const waymark = new Waymark({
  baseUrl: required("WAYMARK_URL", "the URL of Waymark, such as http://127.0.0.1:4000"),
  apiKey: required("WAYMARK_KEY", "an API key with the scope jobs:read"),
});
const mirror = new Mirror(process.env["DATABASE"] ?? "mirror.sqlite");
const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stopping.abort());

const { signal } = stopping;
try {
  await followChanges(waymark, mirror, signal);
} catch (error) {
  // Errors after the stop come from requests that it cancelled.
  if (!signal.aborted) {
    console.error(error);
    process.exitCode = 1;
  }
}
mirror.close();
console.log("Stopped");

function required(name: string, meaning: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") {
    console.error(`Set ${name} to ${meaning}, in the environment or in the file .env`);
    process.exit(1);
  }
  return value;
}
