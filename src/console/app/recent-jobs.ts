/** The jobs that the user opened last in this tab, newest first. */
import { useEffect } from "react";
import type { Mode } from "./session/mode.ts";
import { useMode, useSession } from "./session/session.ts";
import { readItem, writeItem } from "./storage.ts";

const MAX_JOBS = 5;

/** Test jobs are not offered in live mode. */
const keyOf = (userId: string, mode: Mode): string => `waymark-recent-jobs:${userId}:${mode}`;

export function readRecentJobs(userId: string, mode: Mode): string[] {
  try {
    const stored: unknown = JSON.parse(readItem("sessionStorage", keyOf(userId, mode)) ?? "[]");
    return Array.isArray(stored) ? stored.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** Adds the job that the page shows. */
export function useRecentJob(markingNumber: string): void {
  const userId = useSession().user.id;
  const mode = useMode();
  useEffect(() => {
    const others = readRecentJobs(userId, mode).filter((one) => one !== markingNumber);
    const all = [markingNumber, ...others].slice(0, MAX_JOBS);
    writeItem("sessionStorage", keyOf(userId, mode), JSON.stringify(all));
  }, [userId, mode, markingNumber]);
}
