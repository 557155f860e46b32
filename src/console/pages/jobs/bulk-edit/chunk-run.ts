/** Runs one request after the other until none is left: it can be paused and stopped, and pauses automatically after a failed request. */

export type RunStatus = "running" | "pausing" | "paused" | "stopping" | "stopped" | "done";

/** Why a run paused automatically. */
export interface Interruption {
  error: unknown;
  /** It continues automatically after this time; null if it waits for `resume`. */
  retryAfterMs: number | null;
}

export interface RunState<Result> {
  status: RunStatus;
  /** Of all requests that succeeded. */
  result: Result;
  /** The last request failed and was not repeated yet. Null after `pause`. */
  interruption: Interruption | null;
}

export interface Run<Result> {
  state: () => RunState<Result>;
  subscribe: (listener: () => void) => () => void;
  /** Takes effect after the request in flight, whose result counts. */
  pause: () => void;
  /** Repeats the request that failed, if one did. */
  resume: () => void;
  /** As `pause`, for good. */
  stop: () => void;
}

export interface RunOptions<Result> {
  first: Result;
  /**
   * Sends the next request and returns the new result. After a failure it is called with the same result again, so it must then
   * send the same request.
   */
  step: (result: Result) => Promise<Result>;
  isLast: (result: Result) => boolean;
  /** How long to wait before the request is repeated; null if the user decides. */
  retryAfterMs: (error: unknown) => number | null;
}

export function startRun<Result>({ first, step, isLast, retryAfterMs }: RunOptions<Result>): Run<Result> {
  let state: RunState<Result> = { status: "running", result: first, interruption: null };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listeners = new Set<() => void>();
  const set = (change: Partial<RunState<Result>>): void => {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  };
  const interrupt = (error: unknown): void => {
    const interruption = { error, retryAfterMs: retryAfterMs(error) };
    if (state.status === "stopping") return set({ status: "stopped", interruption });
    const isAutomatic = state.status === "running" && interruption.retryAfterMs !== null;
    if (!isAutomatic) interruption.retryAfterMs = null;
    set({ status: "paused", interruption });
    if (interruption.retryAfterMs !== null) timer = setTimeout(resume, interruption.retryAfterMs);
  };
  const work = async (): Promise<void> => {
    while (state.status === "running") {
      if (isLast(state.result)) return set({ status: "done" });
      try {
        set({ result: await step(state.result), interruption: null });
      } catch (error) {
        return interrupt(error);
      }
    }
    // Paused or stopped while the last request was in flight.
    const end = state.status === "stopping" ? "stopped" : "paused";
    set({ status: isLast(state.result) ? "done" : end });
  };
  const resume = (): void => {
    clearTimeout(timer);
    if (state.status === "pausing") return set({ status: "running" });
    if (state.status !== "paused") return undefined;
    set({ status: "running" });
    void work();
  };

  void work();
  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    pause() {
      clearTimeout(timer);
      if (state.status === "running") set({ status: "pausing" });
      // Without its timer it waits for the user.
      else if (state.status === "paused" && state.interruption?.retryAfterMs !== null)
        set({ interruption: state.interruption && { ...state.interruption, retryAfterMs: null } });
    },
    resume,
    stop() {
      clearTimeout(timer);
      if (state.status === "paused") set({ status: "stopped" });
      else if (state.status === "running" || state.status === "pausing") set({ status: "stopping" });
    },
  };
}

/** True until the run has ended. */
export function isActive({ status }: RunState<unknown>): boolean {
  return status !== "stopped" && status !== "done";
}
