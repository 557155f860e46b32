/** Organisations that need attention, each with the reason and a link. */
import { formatNumber } from "../../../app/formats.ts";
import { useQuery } from "@apollo/client/react";
import { Button, Paper, Text, Title } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { guide } from "../../../app/guide/guide-pages.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { EmptyNote } from "../../../components/status/empty-note.tsx";
import { ErrorState, LoadingCard } from "../../../components/status/page-states.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import type { Tone } from "../../../components/status/tone.ts";
import {
  OrganizationsNeedingAttentionDocument,
  type AttentionReason,
  type OrganizationsNeedingAttentionQuery,
} from "../../../generated/organizations.ts";
import classes from "../operator.module.css";
import { formatShare } from "./organization.figures.tsx";

type Item = NonNullable<OrganizationsNeedingAttentionQuery["organizationsNeedingAttention"]>[number];

const POLL_INTERVAL_MS = 60_000;
const SHOWN_AT_FIRST = 8;
/** The server returns no more. */
const MAX_LISTED = 200;

export function AttentionList() {
  const { data, error, refetch } = useQuery(OrganizationsNeedingAttentionDocument, {
    pollInterval: POLL_INTERVAL_MS,
  });
  const items = data?.organizationsNeedingAttention;
  return (
    <Paper component="section" p="lg" mb="lg" aria-labelledby="attention">
      <Title order={2} id="attention" mb="sm">
        Needs attention {items && <span className={classes.quiet}>{countText(items.length)}</span>}
      </Title>
      {items ? (
        <Items items={items} />
      ) : error ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingCard height={120} />
      )}
    </Paper>
  );
}

function countText(count: number): string {
  return count >= MAX_LISTED ? `${MAX_LISTED} or more` : formatNumber(count);
}

function Items({ items }: { items: readonly Item[] }) {
  const [isFull, setIsFull] = useState(false);
  if (items.length === 0)
    return (
      <EmptyNote guide={guide.organizations}>
        Nothing at the moment: all endpoints work, no key expires within 14 days, and no organisation has
        stopped calling the API or gets mostly errors.
      </EmptyNote>
    );
  const shown = isFull ? items : items.slice(0, SHOWN_AT_FIRST);
  return (
    <>
      <ul className={classes.attention}>
        {shown.map((item) => (
          <li key={`${item.organization.id} ${item.reason} ${item.endpointId ?? item.subject ?? ""}`}>
            <StatusBadge {...reasons[item.reason]} />
            <span className={classes.anywhere}>
              <TextLink to="/operator/organizations/$id" params={{ id: item.organization.id }} fw={600}>
                {item.organization.name}
              </TextLink>
              <Text component="span" display="block" c="dimmed" fz="sm">
                {details[item.reason](item)}
              </Text>
            </span>
          </li>
        ))}
      </ul>
      {shown.length < items.length && (
        <Button variant="default" size="compact-sm" mt="sm" onClick={() => setIsFull(true)}>
          Show all {formatNumber(items.length)}
        </Button>
      )}
    </>
  );
}

const reasons: Record<AttentionReason, { label: string; tone: Tone }> = {
  ENDPOINT_DISABLED: { label: "Endpoint disabled", tone: "danger" },
  ENDPOINT_FAILING: { label: "Endpoint failing", tone: "attention" },
  KEY_EXPIRING: { label: "Key expires", tone: "attention" },
  REQUESTS_REFUSED: { label: "Mostly rejected", tone: "attention" },
  REQUESTS_STOPPED: { label: "No requests", tone: "muted" },
};

const details: Record<AttentionReason, (item: Item) => ReactNode> = {
  ENDPOINT_DISABLED: (item) => <EndpointDetail item={item} />,
  ENDPOINT_FAILING: (item) => <EndpointDetail item={item} />,
  KEY_EXPIRING: ({ subject, at }) => (
    <>
      “{subject}” expires <Time at={at} />
    </>
  ),
  REQUESTS_REFUSED: ({ requests, refused }) =>
    `${formatShare(refused ?? 0, requests ?? 0)} of ${formatNumber(requests ?? 0)} requests in 7 days got 4xx`,
  REQUESTS_STOPPED: ({ at }) => (
    <>
      Last request <Time at={at} />
    </>
  ),
};

function EndpointDetail({ item: { endpointId, subject, at } }: { item: Item }) {
  return (
    <>
      <TextLink to="/integrations/endpoints/$id" params={{ id: endpointId ?? "" }} inherit>
        {subject}
      </TextLink>{" "}
      <Time at={at} />
    </>
  );
}

function Time({ at }: { at: string | null }) {
  return at === null ? null : <Timestamp value={at} />;
}
