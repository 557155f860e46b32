/**
 * `npm run bench:simulate`: measures the cost of a change and of a delivery with 1,000 organisations, then computes and simulates
 * a fleet for 10,000 deliveries per second. Options: --rates=250,500,1000,2000 --seconds=20 (of each phase)
 * --warm-up=15 (seconds) --jobs=50000 --model (with the costs of the last run) --write (both tables into docs/engineering).
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../random.ts";
import { reportHeading, writeReport } from "../report.ts";
import { ASSUMPTIONS } from "./assumptions.ts";
import { computeCosts } from "./costs.ts";
import { estimateDisk, sizeFleet } from "./fleet.ts";
import { measure, type SimulationMeasurement } from "./measure.ts";
import { createOrganizations, computeDeliveriesPerDay } from "./organizations.ts";
import { runScenarios, computeWaitsAtPeak } from "./scenarios.ts";
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
  measured: SimulationMeasurement;
}

const startedMs = performance.now();
const onProgress = (text: string): void =>
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);
const folder = join(
  resolve(process.env["BENCH_DATA_DIR"] ?? join(import.meta.dirname, "../../.waymark-bench")),
  "simulation",
);
const measurementFile = join(folder, "measured.json");

const { heading, measured } = options.model ? await readSaved() : await measureAndSave();
const costs = computeCosts(measured);
const table = costsTable(measured, costs);
console.log(`\n${heading}\n\n${table}`);

onProgress("simulating the fleet");
const assumed = Object.entries<number>({ ...ASSUMPTIONS }).map(
  ([name, value]) => `${name} ${value.toLocaleString("en")}`,
);
const modelHeading = `Computed from the table above with (\`bench/simulation/assumptions.ts\`): ${assumed.join(", ")}.`;
const fleet = simulate();
console.log(`\n${modelHeading}\n\n${fleet}`);
if (options.write) {
  await writeReport("costs", heading, table);
  await writeReport("fleet", modelHeading, fleet);
}

async function measureAndSave(): Promise<SavedMeasurement> {
  await mkdir(folder, { recursive: true });
  const [jobs, seconds] = [Number(options.jobs), Number(options.seconds)];
  const rates = options.rates.split(",").map(Number);
  const warmUpSeconds = Number(options["warm-up"]);
  const figures = await measure({ folder, jobs, seconds, warmUpSeconds, rates, onProgress });
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

function simulate(): string {
  const ofOne = { ...costs, bytes: measured.bytes };
  const partners = createOrganizations(ASSUMPTIONS, createRandom(1));
  const size = sizeFleet(ofOne, ASSUMPTIONS);
  const deliveriesPerDay = computeDeliveriesPerDay(partners, ASSUMPTIONS.nightShare);
  const disk = estimateDisk(deliveriesPerDay, ofOne, ASSUMPTIONS);
  const scenarios = runScenarios(partners, size.maxDeliveries, ASSUMPTIONS);
  const computed = { size, disk, waits: computeWaitsAtPeak(size), deliveriesPerDay };
  return fleetTable(computed, ASSUMPTIONS, scenarios);
}
