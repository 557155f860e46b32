/** How far an import is, for a person at a terminal: a bar, above which failed rows are told as they come. */
import { MultiBar, Presets } from "cli-progress";

export interface ProgressBar {
  /** `bytes`: read so far. */
  update(bytes: number, rows: number): void;
  readonly printLine: (line: string) => void;
  stop(): void;
}

const FORMAT_WITH_SIZE = "{bar} {percentage}%  {rows} rows  {eta_formatted} left";
const FORMAT_WITHOUT_SIZE = "{rows} rows in {duration_formatted}";

/** `size` is that of the file in bytes, or null. Without a terminal there are only the lines told. */
export function startProgressBar(size: number | null): ProgressBar {
  const stream = process.stderr;
  const write = (text: string): void => void stream.write(text);
  if (!stream.isTTY)
    return { update: () => undefined, printLine: (line) => write(`${line}\n`), stop: () => undefined };
  // A SingleBar puts the cursor back to where it began when it ends, over the lines told meanwhile.
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
      // What was told since the last drawing is still on its way.
      bars.update();
      bars.stop();
    },
  };
}
