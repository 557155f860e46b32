/** The table as a file. The browser fetches it by itself: however long it is, nothing of it is held in the page. */
import { Button, Menu, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { serverUrl } from "../../../app/api/server-url.ts";
import { exportPath, type ExportFormat } from "./export-url.ts";
import { formatCount } from "../job.labels.ts";
import type { JobsListVariables } from "../filters/jobs.variables.ts";

interface ExportMenuProps {
  listVariables: JobsListVariables;
  /** Undefined: not counted yet. */
  total: number | undefined;
}

const formats: { values: ExportFormat; label: string; description: string }[] = [
  { values: "spreadsheet", label: "For a spreadsheet", description: "To read and to reckon with" },
  { values: "exact", label: "To import again", description: "Every value exactly as it is" },
];

export function ExportMenu({ listVariables, total }: ExportMenuProps) {
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={16} aria-hidden="true" />}>
          Export CSV
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {total === undefined ? "All jobs that match" : `All that match: ${formatCount(total, "job")}`}
        </Menu.Label>
        {formats.map(({ values, label, description }) => (
          <Menu.Item key={values} component="a" href={serverUrl(exportPath(listVariables, values))} download>
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
