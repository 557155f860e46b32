/** An import that is under way, or over, for whoever shows it. */
import { useEffect, useRef, useState } from "react";
import { ApiError } from "../../app/api.ts";
import { useSessionStore } from "../../app/session.ts";
import { uploadImport, type ImportProgress } from "./import.upload.ts";
import type { ImportPlan, ImportReport } from "./import.wire.ts";

export type ImportRun =
  | { kind: "running"; progress: ImportProgress }
  | { kind: "done"; report: ImportReport }
  /** `progress`: the last that was known. */
  | { kind: "failed"; error: unknown; progress: ImportProgress }
  | { kind: "cancelled"; progress: ImportProgress };

const begun: ImportProgress = { fraction: 0, counts: null };

interface Import {
  run: ImportRun;
  cancel: () => void;
  /** Starts it anew. */
  again: () => void;
}

/** It starts when it is first shown, and stops when what shows it goes. */
export function useImport(file: File, plan: ImportPlan, isDryRun: boolean): Import {
  const session = useSessionStore();
  const [turn, setTurn] = useState(0);
  const [run, setRun] = useState<ImportRun>({ kind: "running", progress: begun });
  const stopping = useRef<AbortController>(null);

  useEffect(() => {
    const stop = new AbortController();
    stopping.current = stop;
    // Another turn may have taken its place.
    const show = (next: ImportRun): void => {
      if (stopping.current === stop) setRun(next);
    };
    const upload = async (): Promise<void> => {
      let progress = begun;
      const onProgress = ({ fraction, counts }: ImportProgress): void => {
        progress = { fraction, counts: counts ?? progress.counts };
        show({ kind: "running", progress });
      };
      try {
        show({
          kind: "done",
          report: await uploadImport(file, plan, { isDryRun, onProgress, signal: stop.signal }),
        });
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) session.end();
        show(stop.signal.aborted ? { kind: "cancelled", progress } : { kind: "failed", error, progress });
      }
    };
    void upload();
    return () => {
      stopping.current = null;
      stop.abort(new Error("Nobody looks at it any more"));
    };
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- another turn is another import
  }, [file, plan, isDryRun, session, turn]);

  return {
    run,
    cancel: () => stopping.current?.abort(new Error("The import was cancelled")),
    again() {
      setRun({ kind: "running", progress: begun });
      setTurn(turn + 1);
    },
  };
}
