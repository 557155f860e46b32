/** Exports the table as CSV. The browser downloads the file directly, so the page does not hold it in memory. */
import { formatNumber } from "../../../app/formats.ts";
import { Button, Menu, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMode } from "../../../app/session/session.ts";
import { serverUrl } from "../../../app/api/server-url.ts";
import { exportPath, type ExportFormat } from "./export-url.ts";
import type { JobsListVariables } from "../filters/jobs.variables.ts";

interface ExportMenuProps {
  listVariables: JobsListVariables;
  /** Undefined until the jobs are counted. */
  total: number | undefined;
}

const formats: { values: ExportFormat; label: string; description: string }[] = [
  { values: "spreadsheet", label: "Spreadsheet", description: "Formatted for Excel and Google Sheets" },
  { values: "exact", label: "For re-import", description: "Exact values, without formatting" },
];

export function ExportMenu({ listVariables, total }: ExportMenuProps) {
  const mode = useMode();
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={16} aria-hidden="true" />}>
          Export CSV
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {total === undefined ? "All matching jobs" : `All matching jobs (${formatNumber(total)})`}
        </Menu.Label>
        {formats.map(({ values, label, description }) => (
          <Menu.Item
            key={values}
            component="a"
            href={serverUrl(exportPath(listVariables, { format: values, mode }))}
            download
          >
            {label}
            <Text component="span" display="block" fz="xs" c="dimmed">
              {description}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
