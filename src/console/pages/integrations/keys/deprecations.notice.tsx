/** Names what will be removed, when, what replaces it, and the keys that still use it. */
import { List, Stack, Text } from "@mantine/core";
import { IconCalendarX } from "@tabler/icons-react";
import { guide } from "../../../app/guide/guide-pages.ts";
import { useSession } from "../../../app/session/session.ts";
import { Collapsible } from "../../../components/display/collapsible.tsx";
import { Day, Timestamp, useNow } from "../../../components/display/timestamp.tsx";
import { Alert } from "../../../components/status/alert.tsx";
import type { DeprecationRowFragment } from "../../../generated/deprecations.ts";
import { describeUse, stillUsed } from "./deprecations.ts";
import classes from "../integrations.module.css";

/** Keys shown at once. */
const SHORT_LIST = 5;

/** Renders nothing if no active key uses anything deprecated. */
export function DeprecationsNotice({ deprecations }: { deprecations: readonly DeprecationRowFragment[] }) {
  const used = stillUsed(deprecations, useNow());
  if (used.length === 0) return null;
  return (
    <Alert
      color="amber"
      icon={<IconCalendarX aria-hidden="true" />}
      title={describeUse(used.length)}
      mb="lg"
      guide={guide.deprecation}
    >
      <Stack gap="md">
        {used.map((deprecation) => (
          <Removal key={deprecation.code} deprecation={deprecation} />
        ))}
      </Stack>
    </Alert>
  );
}

function Removal({ deprecation }: { deprecation: DeprecationRowFragment }) {
  const { name, sunset, replacement, uses } = deprecation;
  const [shown, others] = [uses.slice(0, SHORT_LIST), uses.slice(SHORT_LIST)];
  return (
    <div>
      <Text fz="sm" fw={600} className={classes.anywhere}>
        {name}
      </Text>
      <Text fz="sm" className={classes.anywhere}>
        Removed on <Day value={sunset} />. {replacement}
      </Text>
      <Keys uses={shown} name={name} />
      {others.length > 0 && (
        <Collapsible title={others.length === 1 ? "1 more key" : `${others.length} more keys`}>
          <Keys uses={others} name={name} />
        </Collapsible>
      )}
    </div>
  );
}

function Keys({ uses, name }: { uses: DeprecationRowFragment["uses"]; name: string }) {
  const { organization: own } = useSession();
  return (
    <List fz="sm" mt={4} spacing={2} aria-label={`API keys that use ${name}`}>
      {uses.map(({ lastUsedAt, apiKey: { id, name: keyName, prefix, organization } }) => (
        <List.Item key={id} className={classes.anywhere}>
          {keyName} <span className={classes.code}>{prefix}…</span>
          {own === null && organization && ` of ${organization.name}`}, last used{" "}
          <Timestamp value={lastUsedAt} />
        </List.Item>
      ))}
    </List>
  );
}
