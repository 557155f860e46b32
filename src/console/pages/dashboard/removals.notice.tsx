/** Says that the organisation's API keys use something that will be removed, for users who manage keys. */
import { skipToken, useQuery } from "@apollo/client/react";
import { Text } from "@mantine/core";
import { IconCalendarX } from "@tabler/icons-react";
import { guide } from "../../app/guide/guide-pages.ts";
import { canVisit } from "../../app/session/access.ts";
import { useSession } from "../../app/session/session.ts";
import { Day, useNow } from "../../components/display/timestamp.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { Alert } from "../../components/status/alert.tsx";
import { DeprecationsDocument } from "../../generated/deprecations.ts";
import { describeUse, stillUsed } from "../integrations/keys/deprecations.ts";

/** Renders nothing while it loads, on an error, or if nothing is used: the dashboard is about jobs. */
export function RemovalsNotice() {
  const session = useSession();
  const isKeyManager = session.organization !== null && canVisit(session, "integrations");
  const { data } = useQuery(DeprecationsDocument, isKeyManager ? {} : skipToken);
  const [first, ...others] = stillUsed(data?.deprecations ?? [], useNow());
  if (!first) return null;
  return (
    <Alert
      color="amber"
      icon={<IconCalendarX aria-hidden="true" />}
      title={describeUse(1 + others.length)}
      mb="lg"
      guide={guide.deprecation}
    >
      <Text fz="sm" style={{ overflowWrap: "anywhere" }}>
        {first.name} is removed on <Day value={first.sunset} />. {first.replacement}
      </Text>
      <Text fz="sm" mt={4}>
        <TextLink to="/integrations/keys" fz="inherit" c="inherit" underline="always">
          Show the API keys
        </TextLink>
      </Text>
    </Alert>
  );
}
