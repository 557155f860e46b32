/** The jobs that match the filters, latest change first. */
import { useQuery } from "@apollo/client/react";
import { useState, type MouseEvent } from "react";
import { useLiveState } from "./live-updates.ts";
import { ErrorNotice, Loading } from "./notices.tsx";
import { JOBS, type Job } from "./queries.ts";
import { StatusBadge } from "./status-badge.tsx";
import { formatDate, formatTime } from "./format.ts";
import { filterOf, openView, viewUrl, type View } from "./use-view.ts";

const PAGE_SIZE = 25;
/** Waymark returns at most 100 jobs per page. */
const MAX_SIZE = 100;
/** While the page is not live, it reads the list again this often. */
const POLL_INTERVAL_MS = 30_000;

export function JobList({ view }: { view: View }) {
  const [size, setSize] = useState(PAGE_SIZE);
  const isLive = useLiveState() === "live";
  const { data, previousData, error, refetch } = useQuery(JOBS, {
    variables: { filter: filterOf(view), first: size },
    pollInterval: isLive ? 0 : POLL_INTERVAL_MS,
  });
  const jobs = (data ?? previousData)?.jobs;
  if (!jobs)
    return error ? <ErrorNotice error={error} onRetry={() => void refetch()} /> : <Loading rows={8} />;
  if (jobs.totalCount === 0) return <NoJobs view={view} />;
  return (
    <>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      <ul className="job-list">
        {jobs.nodes.map((job) => (
          <JobRow key={job.id} job={job} view={view} />
        ))}
      </ul>
      <footer className="list-end">
        {jobs.nodes.length.toLocaleString()} of {jobs.totalCount.toLocaleString()} jobs
        {jobs.totalCount > jobs.nodes.length &&
          (size < MAX_SIZE ? (
            <button type="button" onClick={() => setSize(size + PAGE_SIZE)}>
              Show more
            </button>
          ) : (
            ". Use the filters to find others."
          ))}
      </footer>
    </>
  );
}

function JobRow({ job, view }: { job: Job; view: View }) {
  // A change after the first display is highlighted for a moment.
  const [firstVersion] = useState(job.version);
  const jobView = { ...view, jobId: job.id };
  const open = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openView(jobView);
  };
  return (
    <li>
      {job.version > firstVersion && <span key={job.version} className="changed" />}
      <a href={viewUrl(jobView)} onClick={open} aria-current={view.jobId === job.id ? "true" : undefined}>
        <strong className="number">{job.markingNumber}</strong>
        <StatusBadge status={job.status} />
        <span className="recipient">{job.recipientName ?? "No recipient"}</span>
        <span className="place">{job.deliveryAddress}</span>
        <span className="date">{job.scheduledDate ? `Due ${formatDate(job.scheduledDate)}` : "No date"}</span>
        <time dateTime={job.updatedAt}>{formatTime(job.updatedAt)}</time>
      </a>
    </li>
  );
}

function NoJobs({ view }: { view: View }) {
  const isFiltered = Object.keys(filterOf(view)).length > 0;
  return (
    <div className="notice">
      <h2>{isFiltered ? "No jobs match" : "No jobs yet"}</h2>
      <p>{isFiltered ? "No job matches these filters." : "Jobs appear here as soon as they are created."}</p>
      {isFiltered && (
        <button
          type="button"
          onClick={() => openView({ search: "", isLate: false, status: null, jobId: view.jobId })}
        >
          Clear filters
        </button>
      )}
    </div>
  );
}
