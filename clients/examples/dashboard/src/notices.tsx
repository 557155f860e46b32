/** What the page shows in place of data. */
import { CombinedGraphQLErrors, ServerError } from "@apollo/client";

export function Loading({ rows }: { rows: number }) {
  return (
    <div className="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} />
      ))}
    </div>
  );
}

interface ErrorNoticeProps {
  error: unknown;
  onRetry: () => void;
}

export function ErrorNotice({ error, onRetry }: ErrorNoticeProps) {
  return (
    <div className="notice error" role="alert">
      <h2>Can’t read from Waymark</h2>
      <p>{describe(error)}</p>
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
}

function describe(error: unknown): string {
  if (CombinedGraphQLErrors.is(error)) return error.errors.map(({ message }) => message).join(" ");
  if (!ServerError.is(error)) return "The server of this page can’t be reached.";
  if (error.statusCode === 401 || error.statusCode === 403)
    return "Waymark rejected the API key. Check WAYMARK_KEY, and its scope jobs:read.";
  if (error.statusCode === 429) return "Too many requests. Wait a moment.";
  return `Waymark can’t be reached (HTTP ${error.statusCode}). The page keeps trying.`;
}
