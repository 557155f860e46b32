/** The way back to the list from which the user came, and to the previous and next job in it. */
import { skipToken, useQuery } from "@apollo/client/react";
import { ActionIcon, Group } from "@mantine/core";
import { IconChevronDown, IconChevronUp, type Icon } from "@tabler/icons-react";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useKeys } from "../../../app/interaction/keys.ts";
import { useToday, useZone } from "../../../app/session/zone.ts";
import { IconLink, TextLink } from "../../../components/layout/links.tsx";
import { JobsPageDocument, type JobsPageQuery } from "../../../generated/jobs.ts";
import { updateSearch, type JobsSearch } from "../filters/jobs.search.ts";
import { jobsListVariables, pageVariables } from "../filters/jobs.variables.ts";

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** On the page of a job: the list from which the user came, and its page. A reload keeps it; a link to share has none. */
    jobList?: JobsSearch;
  }
}

export function JobNavigation({ markingNumber }: { markingNumber: string }) {
  const list = useLocation({ select: ({ state }) => state.jobList });
  if (!list) return <TextLink to="/jobs">All jobs</TextLink>;
  return (
    <Group gap="sm">
      <TextLink to="/jobs" search={list}>
        Back to the list
      </TextLink>
      <Neighbours markingNumber={markingNumber} list={list} />
    </Group>
  );
}

function Neighbours({ markingNumber, list }: { markingNumber: string; list: JobsSearch }) {
  const { previous, next } = useNeighbours(markingNumber, list);
  const navigate = useNavigate();
  const go = (to: Neighbour | null): boolean => {
    if (to) void navigate(linkTo(to));
    return to !== null;
  };
  useKeys({ k: () => go(previous), j: () => go(next) });
  return (
    <Group gap={4} role="group" aria-label="Jobs of the list">
      <NeighbourLink label="Previous job" shortcut="k" icon={IconChevronUp} to={previous} />
      <NeighbourLink label="Next job" shortcut="j" icon={IconChevronDown} to={next} />
    </Group>
  );
}

interface NeighbourLinkProps {
  label: string;
  shortcut: string;
  icon: Icon;
  /** Null at an end of the list. */
  to: Neighbour | null;
}

function NeighbourLink({ label, shortcut, icon: Picture, to }: NeighbourLinkProps) {
  const picture = <Picture size={18} aria-hidden="true" />;
  if (!to)
    return (
      <ActionIcon variant="default" size="md" aria-label={label} disabled>
        {picture}
      </ActionIcon>
    );
  return (
    <IconLink
      variant="default"
      size="md"
      aria-label={label}
      aria-keyshortcuts={shortcut}
      title={`${label} (${shortcut})`}
      {...linkTo(to)}
    >
      {picture}
    </IconLink>
  );
}

interface Neighbour {
  markingNumber: string;
  /** The list with the page that has the job. */
  list: JobsSearch;
}

function linkTo({ markingNumber, list }: Neighbour) {
  return { to: "/jobs/$markingNumber", params: { markingNumber }, state: { jobList: list } } as const;
}

type JobsPage = NonNullable<JobsPageQuery["jobs"]>;

/** Reads the list from the cache, where a changed job keeps its place. */
function useNeighbours(
  markingNumber: string,
  list: JobsSearch,
): { previous: Neighbour | null; next: Neighbour | null } {
  const page = usePage(list);
  const nodes = page?.nodes ?? [];
  const at = nodes.findIndex((job) => job.markingNumber === markingNumber);
  const listBefore = useMemo(() => pageBefore(list, at === 0 ? page : null), [list, at, page]);
  const listAfter = useMemo(
    () => pageAfter(list, at >= 0 && at === nodes.length - 1 ? page : null),
    [list, at, nodes.length, page],
  );
  const lastBefore = usePage(listBefore)?.nodes.at(-1);
  const firstAfter = usePage(listAfter)?.nodes[0];
  return {
    previous: at > 0 ? toNeighbour(nodes[at - 1], list) : toNeighbour(lastBefore, listBefore),
    next:
      at >= 0 && at < nodes.length - 1
        ? toNeighbour(nodes[at + 1], list)
        : toNeighbour(firstAfter, listAfter),
  };
}

function usePage(list: JobsSearch | null): JobsPage | null {
  const [today, zone] = [useToday(), useZone()];
  const variables = useMemo(
    () => list && pageVariables(list, jobsListVariables(list, { today, zone })),
    [list, today, zone],
  );
  const { data } = useQuery(
    JobsPageDocument,
    variables ? { variables, fetchPolicy: "cache-first" as const } : skipToken,
  );
  return data?.jobs ?? null;
}

function pageBefore(list: JobsSearch, page: JobsPage | null): JobsSearch | null {
  const { hasPreviousPage = false, startCursor = null } = page?.pageInfo ?? {};
  return hasPreviousPage && startCursor !== null ? updateSearch(list, { before: startCursor }) : null;
}

function pageAfter(list: JobsSearch, page: JobsPage | null): JobsSearch | null {
  const { hasNextPage = false, endCursor = null } = page?.pageInfo ?? {};
  return hasNextPage && endCursor !== null ? updateSearch(list, { after: endCursor }) : null;
}

function toNeighbour(
  job: Pick<JobsPage["nodes"][number], "markingNumber"> | undefined,
  list: JobsSearch | null,
): Neighbour | null {
  return job && list ? { markingNumber: job.markingNumber, list } : null;
}
