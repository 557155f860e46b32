/** How far an import is, for a person at a terminal: a bar, above which failed rows are told as they come. */
import { MultiBar, Presets } from "cli-progress";

export interface ImportProgress {
  /** `bytes`: read so far. */
  advance(bytes: number, rows: number): void;
  readonly tell: (line: string) => void;
  stop(): void;
}

const SIZED = "{bar} {percentage}%  {rows} rows  {eta_formatted} left";
const UNSIZED = "{rows} rows in {duration_formatted}";

/** `size` is that of the file in bytes, or null. Without a terminal there are only the lines told. */
export function startProgress(size: number | null): ImportProgress {
  const stream = process.stderr;
  const write = (text: string): void => void stream.write(text);
  if (!stream.isTTY)
    return { advance: () => undefined, tell: (line) => write(`${line}\n`), stop: () => undefined };
  // A SingleBar puts the cursor back to where it began when it ends, over the lines told meanwhile.
  const bars = new MultiBar(
    {
      format: size === null ? UNSIZED : SIZED,
      stream,
      clearOnComplete: true,
      gracefulExit: false,
      etaBuffer: 50,
    },
    Presets.shades_classic,
  );
  const bar = bars.create(size ?? 0, 0, { rows: 0 });
  return {
    advance: (bytes, rows) =>
      bar.update(size === null ? 0 : Math.min(bytes, size), { rows: rows.toLocaleString("en") }),
    tell: (line) => bars.log(`${line}\n`),
    stop() {
      // What was told since the last drawing is still on its way.
      bars.update();
      bars.stop();
    },
  };
}
