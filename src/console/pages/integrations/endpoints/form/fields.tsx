/** The form fields of an endpoint, for creating and editing. */
import { Accordion, Checkbox, Group, NumberInput, Radio, Stack, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { eventTypeCode, jobEventTypes } from "../../event-types.ts";
import { HeaderFields, type EndpointForm } from "./header-fields.tsx";

const LIMIT_FIELDS = new Set(["maxInFlight", "perSecond"]);
const NO_HEADERS: readonly string[] = [];

interface EndpointFieldsProps {
  form: EndpointForm;
  /** Names of the headers that the endpoint already has. */
  currentHeaders?: readonly string[];
}

export function EndpointFields({ form, currentHeaders = NO_HEADERS }: EndpointFieldsProps) {
  return (
    <Stack>
      <TextInput
        {...form.getInputProps("url")}
        label="URL"
        description="Must accept POST requests with JSON and return 2xx within 15 seconds"
        placeholder="https://example.com/webhooks"
        type="url"
        inputMode="url"
        maxLength={2_048}
        spellCheck={false}
        required
        data-autofocus
      />
      <Textarea
        {...form.getInputProps("description")}
        label="Description"
        placeholder="Dispatch board, production"
        maxLength={500}
        autosize
        minRows={1}
        maxRows={4}
      />
      <EventFields form={form} />
      <AdvancedFields form={form} currentHeaders={currentHeaders} />
    </Stack>
  );
}

/** Rarely changed fields, collapsed unless they contain an error. */
function AdvancedFields({ form, currentHeaders }: Required<EndpointFieldsProps>) {
  const [opened, setOpened] = useState<string[]>([]);
  const invalidFields = Object.keys(form.errors).map((field) =>
    field.startsWith("headers") ? "headers" : field,
  );
  const invalidPanels = [
    ...(invalidFields.includes("headers") ? ["headers"] : []),
    ...(invalidFields.some((field) => LIMIT_FIELDS.has(field)) ? ["limits"] : []),
  ];
  return (
    <Accordion
      variant="separated"
      chevronPosition="left"
      multiple
      value={[...new Set([...opened, ...invalidPanels])]}
      onChange={setOpened}
    >
      <Accordion.Item value="headers">
        <Accordion.Control>Custom headers</Accordion.Control>
        <Accordion.Panel>
          <HeaderFields form={form} currentHeaders={currentHeaders} />
        </Accordion.Panel>
      </Accordion.Item>
      <Accordion.Item value="limits">
        <Accordion.Control>Limits</Accordion.Control>
        <Accordion.Panel>
          <LimitFields form={form} />
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

function EventFields({ form }: { form: EndpointForm }) {
  return (
    <Stack gap="sm">
      <Radio.Group {...form.getInputProps("events")} label="Events">
        <Stack gap="xs" mt={4}>
          <Radio value="all" label="All events, including new types" />
          <Radio value="selected" label="Selected events" />
        </Stack>
      </Radio.Group>
      {form.values.events === "selected" && (
        <Checkbox.Group {...form.getInputProps("eventTypes")} aria-label="Event types" pl="lg">
          <Stack gap="xs">
            {jobEventTypes.map(({ type, description }) => (
              <Checkbox
                key={type}
                value={type}
                label={eventTypeCode(type)}
                description={description}
                error={form.errors["eventTypes"] !== undefined}
              />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </Stack>
  );
}

function LimitFields({ form }: { form: EndpointForm }) {
  return (
    <Group grow align="flex-start" preventGrowOverflow={false}>
      <NumberInput
        {...form.getInputProps("maxInFlight")}
        label="Requests in flight"
        description="1 to 64"
        min={1}
        max={64}
        allowDecimal={false}
      />
      <NumberInput
        {...form.getInputProps("perSecond")}
        label="Requests per second"
        description="1 to 1,000"
        min={1}
        max={1_000}
        allowDecimal={false}
      />
    </Group>
  );
}
