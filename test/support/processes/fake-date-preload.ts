/**
 * Loaded with `--import`. On SIGUSR2, shifts the process's time of day by the milliseconds in the file that
 * CLOCK_OFFSET_FILE names, and prints a confirmation.
 */
import { readFileSync } from "node:fs";
import { setDateOffset } from "./fake-date.ts";

process.on("SIGUSR2", () => {
  const offsetMs = Number(readFileSync(process.env["CLOCK_OFFSET_FILE"] ?? "", "utf8"));
  setDateOffset(offsetMs);
  process.stdout.write(`shifted by ${offsetMs}\n`);
});
