/**
 * Loaded before the program (`--import`): shifts the time of day of its process by so many milliseconds as the file says
 * that CLOCK_OFFSET_FILE names, whenever SIGUSR2 comes, and says so.
 */
import { readFileSync } from "node:fs";
import { setDateOffset } from "./fake-date.ts";

process.on("SIGUSR2", () => {
  const byMs = Number(readFileSync(process.env["CLOCK_OFFSET_FILE"] ?? "", "utf8"));
  setDateOffset(byMs);
  process.stdout.write(`shifted by ${byMs}\n`);
});
