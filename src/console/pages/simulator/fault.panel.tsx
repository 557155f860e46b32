/** Shows the request that causes a chosen failure. */
import { Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { serverUrl } from "../../app/api/server-url.ts";
import { guide } from "../../app/guide/guide-pages.ts";
import { canVisit } from "../../app/session/access.ts";
import { useSession } from "../../app/session/session.ts";
import { CodeBlock } from "../../components/display/code-block.tsx";
import { GuideLink } from "../../components/layout/guide-link.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { Panel } from "../../components/layout/panel.tsx";
import { faultCommand, faults } from "./faults.ts";

export function FaultPanel() {
  const [fault, setFault] = useState(faults[0]);
  const isLogVisible = canVisit(useSession(), "integrations");
  return (
    <Panel
      title="Choose a fault"
      actions={
        isLogVisible && (
          <TextLink to="/integrations/requests" fz="sm">
            Request log
          </TextLink>
        )
      }
    >
      <Stack>
        <Select
          label="Failure"
          description="A test key gets it from any REST request with this header"
          data={faults.map(({ value, label }) => ({ value, label }))}
          value={fault.value}
          onChange={(value) => setFault(faults.find((one) => one.value === value) ?? faults[0])}
          allowDeselect={false}
        />
        <CodeBlock code={faultCommand(fault, serverUrl("v1/jobs?page_size=2"))} label="curl command" />
        <Text fz="sm" role="status">
          {fault.expectation}
        </Text>
        <GuideLink page={guide.simulateFailure} />
      </Stack>
    </Panel>
  );
}
