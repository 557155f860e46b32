/** The progress bar of an import on a terminal, with failed rows printed above it. */
import type { Writable } from "node:stream";
import { MultiBar, Presets } from "cli-progress";

export interface ProgressBar {
  /** `bytes` and `rows` are totals so far. */
  update(bytes: number, rows: number): void;
  readonly printLine: (line: string) => void;
  stop(): void;
}

const FORMAT_WITH_SIZE = "{bar} {percentage}%  {rows} rows  {eta_formatted} left";
const FORMAT_WITHOUT_SIZE = "{rows} rows in {duration_formatted}";

/** `size` is the file size in bytes, or null if unknown. If `stream` is not a terminal, only lines are printed. */
export function startProgressBar(size: number | null, stream: Writable & { isTTY?: boolean }): ProgressBar {
  const write = (text: string): void => void stream.write(text);
  if (!stream.isTTY)
    return { update: () => undefined, printLine: (line) => write(`${line}\n`), stop: () => undefined };
  // A SingleBar would restore the cursor at the end and overwrite the lines printed above it.
  const bars = new MultiBar(
    {
      format: size === null ? FORMAT_WITHOUT_SIZE : FORMAT_WITH_SIZE,
      stream,
      clearOnComplete: true,
      gracefulExit: false,
      etaBuffer: 50,
    },
    Presets.shades_classic,
  );
  const bar = bars.create(size ?? 0, 0, { rows: 0 });
  return {
    update: (bytes, rows) =>
      bar.update(size === null ? 0 : Math.min(bytes, size), { rows: rows.toLocaleString("en") }),
    printLine: (line) => bars.log(`${line}\n`),
    stop() {
      // Flush the lines logged since the last redraw.
      bars.update();
      bars.stop();
    },
  };
}
