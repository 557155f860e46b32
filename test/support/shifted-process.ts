/**
 * Loaded before the program (`--import`): shifts the time of day of its process by so many milliseconds as the file says
 * that SHIFTED_BY names, whenever SIGUSR2 comes, and says so.
 */
import { readFileSync } from "node:fs";
import { shiftDate } from "./shifted-date.ts";

process.on("SIGUSR2", () => {
  const byMs = Number(readFileSync(process.env["SHIFTED_BY"] ?? "", "utf8"));
  shiftDate(byMs);
  process.stdout.write(`shifted by ${byMs}\n`);
});
