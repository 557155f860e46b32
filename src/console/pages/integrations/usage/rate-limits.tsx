/** The rate limits of the caller's keys. */
import { formatNumber } from "../../../app/formats.ts";
import { useQuery } from "@apollo/client/react";
import { Code, Stack, Text } from "@mantine/core";
import { guide } from "../../../app/guide/guide-pages.ts";
import { DescriptionList } from "../../../components/display/description-list.tsx";
import { RateLimitsDocument, type RateLimitClass } from "../../../generated/rate-limits.ts";
import { EmptyNote } from "../../../components/status/empty-note.tsx";
import { Panel } from "../../../components/layout/panel.tsx";

const CLASS_LABELS: Record<RateLimitClass, string> = {
  READ: "Read requests",
  WRITE: "Single changes",
  BATCH: "Batch changes",
};

function formatLimit({ perSecond, burst }: { perSecond: number; burst: number }): string {
  return `${formatNumber(perSecond)} per second, bursts of ${formatNumber(burst)}`;
}

export function RateLimits() {
  const { data } = useQuery(RateLimitsDocument);
  if (!data) return null;
  const limits = data.viewer.rateLimits;
  return (
    <Panel title="Rate limits">
      {limits.length === 0 ? (
        <EmptyNote guide={guide.rateLimits}>No rate limits are set.</EmptyNote>
      ) : (
        <Stack gap="sm">
          <DescriptionList
            items={limits.map(({ class: kind, perSecond, burst, organization }) => ({
              label: CLASS_LABELS[kind],
              value: `${formatLimit({ perSecond, burst })}${organization ? `; all keys together ${formatLimit(organization)}` : ""}`,
            }))}
          />
          <Text c="dimmed" fz="sm">
            The first limit applies to each key, the second to all keys of your organisation together. The{" "}
            <Code>RateLimit</Code> header of REST responses shows what is left. Requests over a limit get 429
            with <Code>Retry-After</Code>.
          </Text>
        </Stack>
      )}
    </Panel>
  );
}
