/** The GraphQL operations of the dashboard, and the types of their results. */
import { gql, type TypedDocumentNode } from "@apollo/client";

export interface JobStatus {
  code: string;
  label: string;
  category: "OPEN" | "IN_PROGRESS" | "SUCCESS" | "ATTENTION" | "RETURN" | "CANCELLED";
}

export interface Job {
  __typename: "Job";
  id: string;
  /** Rises with each change of the job. */
  version: number;
  markingNumber: string;
  status: JobStatus;
  failureReason: string | null;
  recipientName: string | null;
  recipientContact: string | null;
  deliveryAddress: string | null;
  postalCode: string | null;
  scheduledDate: string | null;
  scheduledDeliveryDate: string | null;
  instructions: string | null;
  pieceQuantity: number | null;
  weight: number | null;
  contractor: { id: string; name: string } | null;
  updatedAt: string;
}

export interface JobFilter {
  search?: string;
  isLate?: boolean;
  normalizedStatus?: { eq: string };
}

interface Events<Event> {
  nodes: Event[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

interface JobEvent {
  id: string;
  cursor: string;
  job: Job | null;
}

/**
 * Every operation selects a job with all of these fields. So the job with the highest version replaces any other, as a whole.
 */
export const JOB_FIELDS: TypedDocumentNode<Job> = gql`
  fragment JobFields on Job {
    id
    version
    markingNumber
    status {
      code
      label
      category
    }
    failureReason
    recipientName
    recipientContact
    deliveryAddress
    postalCode
    scheduledDate
    scheduledDeliveryDate
    instructions
    pieceQuantity
    weight
    contractor {
      id
      name
    }
    updatedAt
  }
`;

export const JOBS: TypedDocumentNode<
  { jobs: { totalCount: number; nodes: Job[] } },
  { filter: JobFilter; first: number }
> = gql`
  query Jobs($filter: JobFilter, $first: Int!) {
    jobs(filter: $filter, first: $first, orderBy: { field: UPDATED_AT, direction: DESC }) {
      totalCount
      nodes {
        ...JobFields
      }
    }
  }
  ${JOB_FIELDS}
`;

export const STATUS_COUNTS: TypedDocumentNode<
  { jobStats: { total: number; groups: { keys: { value: string }[]; count: number }[] } },
  { filter: JobFilter }
> = gql`
  query StatusCounts($filter: JobFilter) {
    jobStats(filter: $filter, groupBy: [STATUS]) {
      total
      groups {
        keys {
          value
        }
        count
      }
    }
  }
`;

export const STATUSES: TypedDocumentNode<{ jobStatuses: JobStatus[] }> = gql`
  query Statuses {
    jobStatuses {
      code
      label
      category
    }
  }
`;

export interface HistoryEvent {
  id: string;
  type: string;
  occurredAt: string;
  changes: { field: string; from: unknown; to: unknown }[];
}

export const JOB: TypedDocumentNode<
  { job: (Job & { history: { nodes: HistoryEvent[] } }) | null },
  { id: string }
> = gql`
  query Job($id: ID!) {
    job(id: $id) {
      ...JobFields
      history(first: 20) {
        nodes {
          id
          type
          occurredAt
          changes {
            field
            from
            to
          }
        }
      }
    }
  }
  ${JOB_FIELDS}
`;

export const JOB_CHANGED: TypedDocumentNode<{ jobChanged: JobEvent }> = gql`
  subscription JobChanged {
    jobChanged {
      id
      cursor
      job {
        ...JobFields
      }
    }
  }
  ${JOB_FIELDS}
`;

/** The changes after a cursor, oldest first. */
export const MISSED_EVENTS: TypedDocumentNode<{ events: Events<JobEvent> }, { after: string }> = gql`
  query MissedEvents($after: String!) {
    events(after: $after, first: 100) {
      nodes {
        id
        cursor
        job {
          ...JobFields
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
  ${JOB_FIELDS}
`;
