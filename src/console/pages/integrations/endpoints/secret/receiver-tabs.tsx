/** Example receivers to copy. */
import { Stack, Tabs, Text } from "@mantine/core";
import verifyPage from "../../../../../../docs/guide/webhooks/verify.md?raw";
import { CodeBlock } from "../../../../components/display/code-block.tsx";
import { receiverExamples } from "./receiver-examples.ts";

/** `labelSuffix` distinguishes the labels if a page shows the tabs twice. */
export function ReceiverTabs({ url, labelSuffix = "" }: { url: string; labelSuffix?: string }) {
  const examples = receiverExamples(verifyPage, url);
  return (
    <Stack gap="xs">
      <Text fz="sm">
        Requests follow the Standard Webhooks specification. Verify the signature, store the event, return
        204, then process it:
      </Text>
      <Tabs defaultValue={examples[0]?.id ?? null} keepMounted={false}>
        <Tabs.List mb="sm">
          {examples.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {examples.map(({ id, label, code }) => (
          <Tabs.Panel key={id} value={id}>
            <CodeBlock code={code} label={`${label} receiver${labelSuffix}`} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}
