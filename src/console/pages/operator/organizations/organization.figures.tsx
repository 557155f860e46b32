/** The numbers of an organisation's jobs and requests. */
import { formatCount, formatNumber, formatPercent } from "../../../app/formats.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { Group, SegmentedControl, SimpleGrid, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import type { OrganizationOverviewFragment, RequestCountsFragment } from "../../../generated/organization.ts";
import type { JobsSearch } from "../../jobs/filters/jobs.search.ts";
import classes from "../operator.module.css";

const MAX_LATE = 10_000;

interface PartProps {
  overview: OrganizationOverviewFragment;
}

/** Each number links to its jobs, if the list of jobs has such a filter. */
export function JobTiles({ overview: { organization, jobs } }: PartProps) {
  const own: JobsSearch = { [organization.type === "AGENT" ? "agent" : "contractor"]: [organization.id] };
  const late = jobs.late >= MAX_LATE ? "10,000 or more" : formatNumber(jobs.late);
  return (
    <section aria-labelledby="jobs">
      <Title order={2} id="jobs" mb="sm">
        Jobs
      </Title>
      <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm">
        <Tile label="All jobs" value={formatNumber(jobs.total)} search={own} />
        <Tile label="Open" value={formatNumber(jobs.open)} />
        <Tile label="Late" value={late} search={{ ...own, late: true }} isBad={jobs.late > 0} />
        <Tile label="Created in 7 days" value={formatNumber(jobs.createdInWeek)} />
      </SimpleGrid>
    </section>
  );
}

const periods = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
];

export function RequestTiles({ overview: { requestsInWeek, requestsInMonth } }: PartProps) {
  const [days, setDays] = useState("7");
  const counts = days === "7" ? requestsInWeek : requestsInMonth;
  const total = totalOf(counts);
  return (
    <section aria-labelledby="requests">
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} id="requests">
          API requests
        </Title>
        <SegmentedControl size="xs" aria-label="Period" value={days} onChange={setDays} data={periods} />
      </Group>
      <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm">
        <Tile label="Requests" value={formatNumber(total)} />
        <Tile label="Succeeded" value={formatNumber(counts.succeeded)} />
        <Tile
          label="Rejected (4xx)"
          value={formatShare(counts.refused, total)}
          note={formatCount(counts.refused, "request")}
          isBad={isMostlyRefused(counts)}
        />
        <Tile label="Failed (5xx)" value={formatNumber(counts.failed)} isBad={counts.failed > 0} />
      </SimpleGrid>
    </section>
  );
}

interface TileProps {
  label: string;
  value: string;
  note?: ReactNode;
  search?: JobsSearch;
  isBad?: boolean;
}

function Tile({ label, value, note, search, isBad = false }: TileProps) {
  const content = (
    <>
      <Text component="span" display="block" c="dimmed" fz="sm">
        {label}
      </Text>
      <span className={classes.figure} data-bad={isBad || undefined}>
        {value}
      </span>
      {note !== undefined && (
        <Text component="span" c="dimmed" fz="sm">
          {note}
        </Text>
      )}
    </>
  );
  if (!search) return <div className={classes.tile}>{content}</div>;
  return (
    <Link to="/jobs" search={search} className={classes.tile}>
      {content}
    </Link>
  );
}

export function LastTime({ value }: { value: string | null | undefined }) {
  return value ? <Timestamp value={value} /> : "Never";
}

export function totalOf({ succeeded, refused, failed }: RequestCountsFragment): number {
  return succeeded + refused + failed;
}

/** A dash if there are no requests. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return "–";
  return formatPercent(part / whole);
}

/** As the list of organisations that need attention says it. */
export function isMostlyRefused(counts: RequestCountsFragment): boolean {
  const total = totalOf(counts);
  return total >= 20 && counts.refused > total / 2;
}
