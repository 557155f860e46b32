/** Exports all pages of the table: as a file for people, or exactly, to import it again. */
import { formatNumber } from "../../../app/formats.ts";
import { Menu, Text } from "@mantine/core";
import { useState } from "react";
import { useMode, useSession } from "../../../app/session/session.ts";
import { useZone } from "../../../app/session/zone.ts";
import { serverUrl } from "../../../app/api/server-url.ts";
import { exportColumns } from "../export/export.columns.ts";
import { ExportDialog } from "../export/export.dialog.tsx";
import type { ExportFormat } from "../export/export-file.ts";
import type { ExportPlan } from "../export/use-export.ts";
import type { JobsSearch } from "../filters/jobs.search.ts";
import { today } from "../job.due.ts";
import type { ReferenceLabels } from "../job.labels.ts";
import { exportPath } from "./export-url.ts";
import { ExportButton } from "./jobs.buttons.tsx";
import { columnDefinitions, defaultColumns } from "./jobs.columns.tsx";
import type { JobsPageState } from "./use-jobs-page.ts";

interface ExportMenuProps {
  search: JobsSearch;
  table: Pick<JobsPageState, "listVariables" | "page">;
  labels: ReferenceLabels;
}

const formats: { format: ExportFormat; label: string; description: string }[] = [
  { format: "xlsx", label: "Excel (.xlsx)", description: "The columns shown, with names and labels" },
  { format: "csv", label: "CSV", description: "The same for other programs" },
];

export function ExportMenu({ search, table: { listVariables, page }, labels }: ExportMenuProps) {
  const mode = useMode();
  const zone = useZone();
  const { organization } = useSession();
  const total = page?.totalCount;
  const shown = search.columns ?? defaultColumns(organization?.type ?? null);
  const [plan, setPlan] = useState<ExportPlan | null>(null);
  const start = (format: ExportFormat): void =>
    setPlan({
      format,
      fileName: `jobs-${today(zone)}.${format}`,
      listVariables,
      columns: exportColumns({ shown, labels, zone, headerOf: (id) => columnDefinitions[id].header }),
    });
  return (
    <>
      <Menu withinPortal={false}>
        <Menu.Target>
          <ExportButton />
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {total === undefined ? "All matching jobs" : `All matching jobs (${formatNumber(total)})`}
          </Menu.Label>
          {formats.map(({ format, label, description }) => (
            <Menu.Item key={format} onClick={() => start(format)}>
              {label}
              <Description>{description}</Description>
            </Menu.Item>
          ))}
          <Menu.Item component="a" href={serverUrl(exportPath(listVariables, mode))} download>
            For re-import
            <Description>All fields with IDs and codes, as CSV</Description>
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ExportDialog plan={plan} total={total} onClose={() => setPlan(null)} />
    </>
  );
}

function Description({ children }: { children: string }) {
  return (
    <Text component="span" display="block" fz="xs">
      {children}
    </Text>
  );
}
