/** Filters: search, late jobs, and a status with the number of its jobs. */
import { useQuery } from "@apollo/client/react";
import { useEffect, useState } from "react";
import { STATUS_COUNTS, STATUSES } from "./queries.ts";
import { filterOf, openView, type View } from "./use-view.ts";

const TYPING_PAUSE_MS = 300;

export function Filters({ view }: { view: View }) {
  return (
    <div className="filters">
      <div className="filter-row">
        <SearchField view={view} />
        <label className="late">
          <input
            type="checkbox"
            checked={view.isLate}
            onChange={({ target }) => openView({ ...view, isLate: target.checked })}
          />
          Late only
        </label>
      </div>
      <StatusTabs view={view} />
    </div>
  );
}

/** Searches when the user pauses. */
function SearchField({ view }: { view: View }) {
  const [text, setText] = useState(view.search);
  const [shown, setShown] = useState(view.search);
  // The back button, or "Clear filters".
  if (shown !== view.search) {
    setShown(view.search);
    setText(view.search);
  }
  useEffect(() => {
    if (text.trim() === view.search) return undefined;
    const timer = setTimeout(() => openView({ ...view, search: text.trim() }), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, view]);
  return (
    <input
      type="search"
      aria-label="Search jobs"
      placeholder="Search jobs"
      value={text}
      onChange={({ target }) => setText(target.value)}
    />
  );
}

function StatusTabs({ view }: { view: View }) {
  const { data: { jobStatuses = [] } = {} } = useQuery(STATUSES);
  const { data, previousData } = useQuery(STATUS_COUNTS, {
    variables: { filter: filterOf(view, { allStatuses: true }) },
  });
  const stats = (data ?? previousData)?.jobStats;
  const counts = new Map(stats?.groups.map(({ keys, count }) => [keys[0]?.value, count]));
  const shown = jobStatuses.filter(({ code }) => counts.has(code) || code === view.status);
  return (
    <nav className="statuses" aria-label="Status">
      <StatusTab view={view} status={null} label="All" count={stats?.total} />
      {shown.map(({ code, label, category }) => (
        <StatusTab
          key={code}
          view={view}
          status={code}
          label={label}
          category={category}
          count={counts.get(code) ?? 0}
        />
      ))}
    </nav>
  );
}

interface StatusTabProps {
  view: View;
  status: string | null;
  label: string;
  category?: string;
  count: number | undefined;
}

function StatusTab({ view, status, label, category, count }: StatusTabProps) {
  return (
    <button
      type="button"
      aria-pressed={view.status === status}
      className={category}
      onClick={() => openView({ ...view, status })}
    >
      {label} <strong>{count?.toLocaleString() ?? "–"}</strong>
    </button>
  );
}
