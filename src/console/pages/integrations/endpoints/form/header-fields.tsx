/**
 * Custom headers of an endpoint. Their values are never shown again, so changing one means entering all of them
 * again.
 */
import { ActionIcon, Button, Code, Group, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { randomId } from "@mantine/hooks";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { guide } from "../../../../app/guide/guide-pages.ts";
import { EmptyNote } from "../../../../components/status/empty-note.tsx";
import type { EndpointFormValues, HeaderInput } from "./form-values.ts";
import classes from "../../integrations.module.css";

export type EndpointForm = UseFormReturnType<EndpointFormValues>;

const MAX_HEADERS = 20;

interface HeaderFieldsProps {
  form: EndpointForm;
  currentHeaders: readonly string[];
}

export function HeaderFields({ form, currentHeaders }: HeaderFieldsProps) {
  const { headers } = form.values;
  if (headers === null)
    return (
      <CurrentHeaders names={currentHeaders} onReplace={(next) => form.setFieldValue("headers", next)} />
    );
  const error = form.errors["headers"];
  return (
    <Stack gap="sm">
      <Text c="dimmed" fz="sm">
        Sent with every request, for example to authenticate at your gateway. Values are stored encrypted and
        never shown again.
      </Text>
      {headers.map(({ rowId }, index) => (
        <HeaderRow key={rowId} form={form} index={index} />
      ))}
      {error && (
        <Text c="var(--mantine-color-error)" fz="sm" role="alert">
          {error}
        </Text>
      )}
      <Group>
        <Button
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} aria-hidden="true" />}
          disabled={headers.length >= MAX_HEADERS}
          onClick={() => form.insertListItem("headers", newHeader(""))}
        >
          Add header{" "}
        </Button>{" "}
        {currentHeaders.length > 0 && (
          <Button variant="subtle" size="xs" onClick={() => form.setFieldValue("headers", null)}>
            Keep current headers
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function HeaderRow({ form, index }: { form: EndpointForm; index: number }) {
  return (
    <div className={classes.headerRow}>
      <TextInput
        {...form.getInputProps(`headers.${index}.name`)}
        label="Name"
        placeholder="X-Api-Key"
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
      />
      <PasswordInput
        {...form.getInputProps(`headers.${index}.value`)}
        label="Value"
        maxLength={2_048}
        autoComplete="off"
      />
      <ActionIcon
        aria-label={`Remove header ${index + 1}`}
        onClick={() => form.removeListItem("headers", index)}
      >
        <IconTrash size={18} aria-hidden="true" />
      </ActionIcon>
    </div>
  );
}

interface CurrentHeadersProps {
  names: readonly string[];
  onReplace: (headers: HeaderInput[]) => void;
}

function CurrentHeaders({ names, onReplace }: CurrentHeadersProps) {
  const replace = (): void => {
    const rows = names.length === 0 ? [""] : names;
    onReplace(rows.map(newHeader));
  };
  return (
    <Stack gap="sm" align="flex-start">
      {names.length === 0 ? (
        <EmptyNote guide={guide.createEndpoint}>No custom headers.</EmptyNote>
      ) : (
        <Text fz="sm">
          {names.map((name) => (
            <Code key={name} mr={6}>
              {name}
            </Code>
          ))}
        </Text>
      )}
      <Button variant="default" size="xs" onClick={replace}>
        {names.length === 0 ? "Add header" : "Replace headers"}
      </Button>
    </Stack>
  );
}

function newHeader(name: string): HeaderInput {
  return { rowId: randomId(), name, value: "" };
}
