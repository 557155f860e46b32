/** An import that is under way, or over, for whoever shows it. */
import { useEffect, useRef, useState } from "react";
import { ApiError } from "../../../app/api/client.ts";
import { useSessionStore } from "../../../app/session/session.ts";
import { uploadImport, type ImportProgress } from "./upload.ts";
import type { ImportPlan, ImportReport } from "./import-api.ts";

export type ImportRun =
  | { kind: "running"; progress: ImportProgress }
  | { kind: "done"; report: ImportReport }
  /** `progress`: the last that was known. */
  | { kind: "failed"; error: unknown; progress: ImportProgress }
  | { kind: "cancelled"; progress: ImportProgress };

const initialProgress: ImportProgress = { fraction: 0, counts: null };

interface ImportHandle {
  run: ImportRun;
  cancel: () => void;
  /** Starts it anew. */
  restart: () => void;
}

/** It starts when it is first shown, and stops when what shows it goes. */
export function useImport(file: File, plan: ImportPlan, isDryRun: boolean): ImportHandle {
  const session = useSessionStore();
  const [attempt, setAttempt] = useState(0);
  const [run, setRun] = useState<ImportRun>({ kind: "running", progress: initialProgress });
  const abortController = useRef<AbortController>(null);

  useEffect(() => {
    const stop = new AbortController();
    abortController.current = stop;
    // Another turn may have taken its place.
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
        if (error instanceof ApiError && error.status === 401) session.end();
        show(stop.signal.aborted ? { kind: "cancelled", progress } : { kind: "failed", error, progress });
      }
    };
    void upload();
    return () => {
      abortController.current = null;
      stop.abort(new Error("Nobody looks at it any more"));
    };
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- another turn is another import
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
