/** Receivers to copy, which verify what comes to an endpoint. */
import { Stack, Tabs, Text } from "@mantine/core";
import { CodeBlock } from "../../../../components/display/code-block.tsx";
import { receiverExamples } from "./receiver-examples.ts";

/** `of`: what tells it from another one on the page. */
export function ReceiverTabs({ url, of = "" }: { url: string; of?: string }) {
  const examples = receiverExamples(url);
  return (
    <Stack gap="xs">
      <Text fz="sm">
        Webhooks follow Standard Webhooks. A receiver verifies first, stores the event, answers 204 and works
        afterwards:
      </Text>
      <Tabs defaultValue={examples[0]?.id} keepMounted={false}>
        <Tabs.List mb="sm">
          {examples.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {examples.map(({ id, label, code }) => (
          <Tabs.Panel key={id} value={id}>
            <CodeBlock code={code} label={`${label} receiver${of}`} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}
