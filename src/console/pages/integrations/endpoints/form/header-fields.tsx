/** Headers of an endpoint's owner. Values are never shown again, so to change one is to enter all of them anew. */
import { ActionIcon, Button, Code, Group, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { randomId } from "@mantine/hooks";
import { IconPlus, IconTrash } from "@tabler/icons-react";
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
        Every request carries them, say for your gateway. Values are kept encrypted and are never shown again.
      </Text>
      {headers.map(({ rowId }, at) => (
        <HeaderRow key={rowId} form={form} at={at} />
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
          Add a header
        </Button>
        {currentHeaders.length > 0 && (
          <Button variant="subtle" size="xs" onClick={() => form.setFieldValue("headers", null)}>
            Keep them as they were
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function HeaderRow({ form, at }: { form: EndpointForm; at: number }) {
  return (
    <div className={classes.headerRow}>
      <TextInput
        {...form.getInputProps(`headers.${at}.name`)}
        label="Name"
        placeholder="X-Api-Key"
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
      />
      <PasswordInput
        {...form.getInputProps(`headers.${at}.value`)}
        label="Value"
        maxLength={2_048}
        autoComplete="off"
      />
      <ActionIcon aria-label={`Remove header ${at + 1}`} onClick={() => form.removeListItem("headers", at)}>
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
        <Text c="dimmed" fz="sm">
          There are none.
        </Text>
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
        {names.length === 0 ? "Add a header" : "Enter all of them anew"}
      </Button>
    </Stack>
  );
}

function newHeader(name: string): HeaderInput {
  return { rowId: randomId(), name, value: "" };
}
