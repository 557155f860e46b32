/**
 * `npm run bench:simulate`: measures the cost of a change and of a delivery with 1,000 organisations, then computes a fleet for
 * 10,000 deliveries per second. Options: --rates=250,500,1000,2000 --seconds=20 (of each phase)
 * --warm-up=15 (seconds) --jobs=50000 --model (with the costs of the last run) --write (both tables into docs/engineering).
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { dataFolder } from "../environment.ts";
import { publishWithHeading, reportHeading } from "../report.ts";
import { ASSUMPTIONS } from "./assumptions.ts";
import { computeCosts } from "./costs.ts";
import { estimateDisk, sizeFleet } from "./fleet.ts";
import { measure, type CapacityMeasurement } from "./measure.ts";
import { costsTable, fleetTable } from "./tables.ts";

const { values: options } = parseArgs({
  options: {
    rates: { type: "string", default: "250,500,1000,2000" },
    seconds: { type: "string", default: "20" },
    // Requests cost several times as much until V8 has compiled the hot code.
    "warm-up": { type: "string", default: "15" },
    jobs: { type: "string", default: "50000" },
    model: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

/** A measurement with its date and machine. */
interface SavedMeasurement {
  heading: string;
  measured: CapacityMeasurement;
}

const measurementFile = join(dataFolder, "capacity.json");

const { heading, measured } = options.model ? await readSaved() : await measureAndSave();
const costs = computeCosts(measured);
await publishWithHeading("costs", heading, costsTable(measured, costs), options.write);

const assumed = Object.entries<number>({ ...ASSUMPTIONS }).map(
  ([name, value]) => `${name} ${value.toLocaleString("en")}`,
);
const modelHeading = `Computed from the table above with (\`bench/capacity/assumptions.ts\`): ${assumed.join(", ")}.`;
const costsOfOne = { ...costs, bytes: measured.bytes };
const size = sizeFleet(costsOfOne, ASSUMPTIONS);
const disk = estimateDisk(costsOfOne, ASSUMPTIONS);
const fleet = fleetTable(size, disk, ASSUMPTIONS);
await publishWithHeading("fleet", modelHeading, fleet, options.write);

async function measureAndSave(): Promise<SavedMeasurement> {
  const [jobs, seconds] = [Number(options.jobs), Number(options.seconds)];
  const rates = options.rates.split(",").map(Number);
  const figures = await measure({ jobs, seconds, warmUpSeconds: Number(options["warm-up"]), rates });
  const kept: SavedMeasurement = {
    heading: reportHeading(
      "1,000 organisations",
      `${jobs.toLocaleString("en")} jobs`,
      `phases of ${seconds} s`,
    ),
    measured: figures,
  };
  await writeFile(measurementFile, JSON.stringify(kept, null, 1));
  return kept;
}

async function readSaved(): Promise<SavedMeasurement> {
  return JSON.parse(await readFile(measurementFile, "utf8")) as SavedMeasurement;
}
