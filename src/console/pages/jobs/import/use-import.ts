/** Runs an import and tracks its state. */
import { useEffect, useRef, useState } from "react";
import { ApiError } from "../../../app/api/client.ts";
import { useSessionStore } from "../../../app/session/session.ts";
import { uploadImport, type ImportProgress } from "./upload.ts";
import type { ImportPlan, ImportReport } from "./import-api.ts";

export type ImportRun =
  | { kind: "running"; progress: ImportProgress }
  | { kind: "done"; report: ImportReport }
  /** `progress`: the last known progress. */
  | { kind: "failed"; error: unknown; progress: ImportProgress }
  | { kind: "cancelled"; progress: ImportProgress };

const initialProgress: ImportProgress = { fraction: 0, counts: null };

interface ImportHandle {
  run: ImportRun;
  cancel: () => void;
  restart: () => void;
}

/** Starts the import on mount and stops it on unmount. */
export function useImport(file: File, plan: ImportPlan, isDryRun: boolean): ImportHandle {
  const session = useSessionStore();
  const [attempt, setAttempt] = useState(0);
  const [run, setRun] = useState<ImportRun>({ kind: "running", progress: initialProgress });
  const abortController = useRef<AbortController>(null);

  useEffect(() => {
    const stop = new AbortController();
    abortController.current = stop;
    // A newer attempt may have replaced this one.
    const show = (next: ImportRun): void => {
      if (abortController.current === stop) setRun(next);
    };
    const upload = async (): Promise<void> => {
      let progress = initialProgress;
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
        if (error instanceof ApiError && error.status === 401) void session.end();
        show(stop.signal.aborted ? { kind: "cancelled", progress } : { kind: "failed", error, progress });
      }
    };
    void upload();
    return () => {
      abortController.current = null;
      stop.abort(new Error("The import page was closed"));
    };
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- a new attempt starts a new import
  }, [file, plan, isDryRun, session, attempt]);

  return {
    run,
    cancel: () => abortController.current?.abort(new Error("The import was cancelled")),
    restart() {
      setRun({ kind: "running", progress: initialProgress });
      setAttempt(attempt + 1);
    },
  };
}
