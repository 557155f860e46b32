/** How often requests may come. */
import { useQuery } from "@apollo/client/react";
import { Code, Stack, Text } from "@mantine/core";
import { FactList } from "../../components/fact-list.tsx";
import { RateLimitsDocument, type RateLimitClass } from "../../generated/rate-limits.ts";
import { Panel } from "./panel.tsx";

const CLASSES: Record<RateLimitClass, string> = {
  READ: "Reading",
  WRITE: "Changing one job",
  BATCH: "Changing many jobs",
};

function inWords({ perSecond, burst }: { perSecond: number; burst: number }): string {
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
          <FactList
            facts={limits.map(({ class: kind, perSecond, burst, organization }) => ({
              label: CLASSES[kind],
              value: `${inWords({ perSecond, burst })}${organization ? `; all together ${inWords(organization)}` : ""}`,
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
