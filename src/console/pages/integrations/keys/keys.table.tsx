/** Tables of API keys. */
import { Badge, Code, Group, Menu, Stack, Text, Tooltip } from "@mantine/core";
import { IconRefresh, IconTrash } from "@tabler/icons-react";
import { expiresSoon } from "../../../app/created-keys.ts";
import { useSession } from "../../../app/session/session.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { RowActions } from "../../../components/tables/row-actions.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type { ApiKeyRowFragment } from "../../../generated/api-keys.ts";
import { OrganizationCell } from "../listed-mode.control.tsx";
import classes from "../integrations.module.css";
import { scopeCode } from "./scope.labels.ts";

type Key = ApiKeyRowFragment;

const nameColumn: Column<Key> = {
  id: "name",
  header: "Name",
  isTitle: true,
  cell: (key) => (
    <Stack gap={2}>
      <Group gap="xs">
        <span className={classes.anywhere}>{key.name}</span>
        {key.mode === "TEST" && <Badge color="gray">Test</Badge>}
      </Group>
      <Code className={classes.quietCode}>{key.prefix}…</Code>
    </Stack>
  ),
};

/** For operators, who see the keys of all organisations. */
const organizationColumn: Column<Key> = {
  id: "organization",
  header: "Organisation",
  cell: ({ organization, mode }) => <OrganizationCell organization={organization} mode={mode} />,
};

const scopesColumn: Column<Key> = {
  id: "scopes",
  header: "Permissions",
  cell: (key) => (
    <Group gap={4} className={classes.tags}>
      {key.scopes.map((scope) => (
        <Badge key={scope} color="gray" className={classes.code}>
          {scopeCode(scope)}
        </Badge>
      ))}
    </Group>
  ),
};

const allowedIpsColumn: Column<Key> = {
  id: "from",
  header: "Allowed IPs",
  cell: ({ cidrs }) =>
    cidrs === null ? (
      <Text c="dimmed" fz="sm">
        Any
      </Text>
    ) : (
      <Ranges cidrs={cidrs} />
    ),
};

const lastUsedColumn: Column<Key> = {
  id: "lastUsed",
  header: "Last used",
  cell: ({ lastUsedAt }) => (lastUsedAt === null ? <Never /> : <Timestamp value={lastUsedAt} />),
};

const expiresColumn: Column<Key> = {
  id: "expires",
  header: "Expires",
  cell: ({ expiresAt }) => <Expiry value={expiresAt} />,
};

const endedColumn: Column<Key> = {
  id: "ended",
  header: "Ended",
  cell: ({ revokedAt, expiresAt }) => {
    const endedAt = revokedAt ?? expiresAt;
    return endedAt === null ? null : <Timestamp value={endedAt} />;
  },
};

const endReasonColumn: Column<Key> = {
  id: "how",
  header: "Status",
  cell: ({ revokedAt }) => <StatusBadge tone="muted" label={revokedAt === null ? "Expired" : "Revoked"} />,
};

interface KeysTableProps {
  keys: readonly Key[];
  onRotate: (key: Key) => void;
  onRevoke: (key: Key) => void;
}

export function KeysTable({ keys, onRotate, onRevoke }: KeysTableProps) {
  const actions: Column<Key> = {
    id: "actions",
    header: "Actions",
    isActions: true,
    cell: (key) => (
      <RowActions label={`Actions for ${key.name}`}>
        <Menu.Item leftSection={<IconRefresh size={16} aria-hidden="true" />} onClick={() => onRotate(key)}>
          Rotate…
        </Menu.Item>
        <Menu.Item
          color="red"
          leftSection={<IconTrash size={16} aria-hidden="true" />}
          onClick={() => onRevoke(key)}
        >
          Revoke…
        </Menu.Item>
      </RowActions>
    ),
  };
  const columns = [
    nameColumn,
    ...useOrganizationColumn(),
    scopesColumn,
    allowedIpsColumn,
    lastUsedColumn,
    expiresColumn,
    actions,
  ];
  return <DataTable caption="API keys" columns={columns} rows={keys} rowKey={({ id }) => id} />;
}

export function InactiveKeysTable({ keys }: { keys: readonly Key[] }) {
  return (
    <DataTable
      caption="Inactive API keys"
      columns={[
        nameColumn,
        ...useOrganizationColumn(),
        scopesColumn,
        lastUsedColumn,
        endedColumn,
        endReasonColumn,
      ]}
      rows={keys}
      rowKey={({ id }) => id}
    />
  );
}

function useOrganizationColumn(): Column<Key>[] {
  return useSession().organization === null ? [organizationColumn] : [];
}

function Ranges({ cidrs }: { cidrs: readonly string[] }) {
  const [first, ...more] = cidrs;
  return (
    <Tooltip label={cidrs.join(", ")} disabled={more.length === 0} multiline maw={320}>
      <Stack gap={0} className={classes.state} tabIndex={more.length === 0 ? undefined : 0}>
        <Code className={classes.quietCode}>{first}</Code>
        {more.length > 0 && (
          <Text c="dimmed" fz="xs">
            and {more.length} more
          </Text>
        )}
      </Stack>
    </Tooltip>
  );
}

function Expiry({ value }: { value: string | null }) {
  const nowMs = useNow();
  if (value === null) return <Never />;
  return (
    <Text component="span" fz="sm" className={expiresSoon(value, nowMs) ? classes.warning : undefined}>
      <Timestamp value={value} />
    </Text>
  );
}

function Never() {
  return (
    <Text c="dimmed" fz="sm">
      Never
    </Text>
  );
}
