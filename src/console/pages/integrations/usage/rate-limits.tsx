/** How often requests may come. */
import { useQuery } from "@apollo/client/react";
import { Code, Stack, Text } from "@mantine/core";
import { DescriptionList } from "../../../components/display/description-list.tsx";
import { RateLimitsDocument, type RateLimitClass } from "../../../generated/rate-limits.ts";
import { Panel } from "../../../components/layout/panel.tsx";

const CLASS_LABELS: Record<RateLimitClass, string> = {
  READ: "Reading",
  WRITE: "Changing one job",
  BATCH: "Changing many jobs",
};

function formatLimit({ perSecond, burst }: { perSecond: number; burst: number }): string {
  return `${perSecond.toLocaleString()} a second, ${burst.toLocaleString()} at once`;
}

export function RateLimits() {
  const { data } = useQuery(RateLimitsDocument);
  if (!data) return null;
  const limits = data.viewer.rateLimits;
  return (
    <Panel title="Rate limits">
      {limits.length === 0 ? (
        <Text fz="sm">There are none: requests may come as often as they like.</Text>
      ) : (
        <Stack gap="sm">
          <DescriptionList
            facts={limits.map(({ class: kind, perSecond, burst, organization }) => ({
              label: CLASS_LABELS[kind],
              value: `${formatLimit({ perSecond, burst })}${organization ? `; all together ${formatLimit(organization)}` : ""}`,
            }))}
          />
          <Text c="dimmed" fz="sm">
            The first limit is for each key, the second for all keys of your organisation together. Each REST
            response says in <Code>RateLimit</Code> how much is left. Requests beyond a limit return 429 with{" "}
            <Code>Retry-After</Code>.
          </Text>
        </Stack>
      )}
    </Panel>
  );
}
