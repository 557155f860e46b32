/** One job: its fields, and what happened to it. */
import { useQuery } from "@apollo/client/react";
import { useEffect, useRef } from "react";
import { formatDate, formatTime } from "./format.ts";
import { ErrorNotice, Loading } from "./notices.tsx";
import { JOB, STATUSES, type HistoryEvent, type Job } from "./queries.ts";
import { StatusBadge } from "./status-badge.tsx";

export function JobDetail({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error, refetch } = useQuery(JOB, { variables: { id } });
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => close.current?.focus(), []);
  const job = data?.job;
  return (
    <section className="job" aria-label="Job">
      <button type="button" className="close" onClick={onClose} ref={close}>
        ← All jobs
      </button>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={4} />}
      {job === null && (
        <div className="notice">
          <h2>Job not found</h2>
          <p>It does not exist, or your organisation can no longer see it.</p>
        </div>
      )}
      {job && (
        <>
          <h2>{job.markingNumber}</h2>
          <StatusBadge status={job.status} />
          <Fields job={job} />
          <h3>History</h3>
          <History events={job.history.nodes} />
        </>
      )}
    </section>
  );
}

function Fields({ job }: { job: Job }) {
  const fields = [
    ["Reason", job.failureReason?.replaceAll("_", " ")],
    ["Recipient", job.recipientName],
    ["Contact", job.recipientContact],
    ["Address", job.deliveryAddress],
    ["Postal code", job.postalCode],
    ["Scheduled", job.scheduledDate && formatDate(job.scheduledDate)],
    ["Confirmed", job.scheduledDeliveryDate && formatDate(job.scheduledDeliveryDate)],
    ["Instructions", job.instructions],
    ["Pieces", job.pieceQuantity],
    ["Weight", job.weight],
    ["Contractor", job.contractor?.name],
    ["Updated", formatTime(job.updatedAt)],
  ] as const;
  return (
    <dl>
      {fields.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value ?? "–"}</dd>
        </div>
      ))}
    </dl>
  );
}

function History({ events }: { events: HistoryEvent[] }) {
  const { data: { jobStatuses = [] } = {} } = useQuery(STATUSES);
  const format = (value: unknown): string => {
    if (value === null) return "empty";
    return jobStatuses.find(({ code }) => code === value)?.label ?? JSON.stringify(value);
  };
  return (
    <ol className="history">
      {events.map(({ id, type, occurredAt, changes }) => (
        <li key={id}>
          <time dateTime={occurredAt}>{formatTime(occurredAt)}</time>
          {type === "JOB_CREATED" ? (
            <p>Created</p>
          ) : (
            changes.map(({ field, from, to }) => (
              <p key={field}>
                {fieldLabel(field)}: {format(from)} → <strong>{format(to)}</strong>
              </p>
            ))
          )}
        </li>
      ))}
    </ol>
  );
}

/** Converts `failureReason` to `Failure reason`. */
function fieldLabel(field: string): string {
  if (field === "normalizedStatus") return "Status";
  const words = field.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
