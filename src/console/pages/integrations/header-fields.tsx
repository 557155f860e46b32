/** Headers of an endpoint's owner. Values are never shown again, so to change one is to enter all of them anew. */
import { ActionIcon, Button, Code, Group, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { randomId } from "@mantine/hooks";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import type { EndpointFormValues, TypedHeader } from "./endpoint-form.ts";
import classes from "./integrations.module.css";

export type EndpointForm = UseFormReturnType<EndpointFormValues>;

const MOST = 20;

interface HeaderFieldsProps {
  form: EndpointForm;
  formerHeaders: readonly string[];
}

export function HeaderFields({ form, formerHeaders }: HeaderFieldsProps) {
  const { headers } = form.values;
  if (headers === null)
    return <FormerHeaders names={formerHeaders} onReplace={(next) => form.setFieldValue("headers", next)} />;
  const error = form.errors["headers"];
  return (
    <Stack gap="sm">
      <Text c="dimmed" fz="sm">
        Every request carries them, say for your gateway. Values are kept encrypted and are never shown again.
      </Text>
      {headers.map(({ row }, at) => (
        <HeaderRow key={row} form={form} at={at} />
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
          disabled={headers.length >= MOST}
          onClick={() => form.insertListItem("headers", newRow(""))}
        >
          Add a header
        </Button>
        {formerHeaders.length > 0 && (
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

interface FormerHeadersProps {
  names: readonly string[];
  onReplace: (headers: TypedHeader[]) => void;
}

function FormerHeaders({ names, onReplace }: FormerHeadersProps) {
  const replace = (): void => {
    const rows = names.length === 0 ? [""] : names;
    onReplace(rows.map(newRow));
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

function newRow(name: string): TypedHeader {
  return { row: randomId(), name, value: "" };
}
