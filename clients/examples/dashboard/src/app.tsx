/** The layout of the page: filters and the list of jobs, and beside it the open job. On a phone one of the two. */
import { useRef } from "react";
import { ConnectionState } from "./connection-state.tsx";
import { Filters } from "./filters.tsx";
import { JobDetail } from "./job-detail.tsx";
import { JobList } from "./job-list.tsx";
import { openView, useView } from "./use-view.ts";

export function App() {
  const view = useView();
  const list = useRef<HTMLElement>(null);
  const closeJob = (): void => {
    openView({ ...view, jobId: null });
    list.current?.querySelector<HTMLElement>("a[aria-current]")?.focus();
  };
  return (
    <>
      <header className="top">
        <h1>Delivery jobs</h1>
        <ConnectionState />
      </header>
      <main className={view.jobId ? "with-job" : ""}>
        <section className="jobs" aria-label="Jobs" ref={list}>
          <Filters view={view} />
          <JobList view={view} />
        </section>
        {view.jobId && <JobDetail key={view.jobId} id={view.jobId} onClose={closeJob} />}
      </main>
    </>
  );
}
