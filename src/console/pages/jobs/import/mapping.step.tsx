/** The second step: map columns, and choose organisations for rows without one. */
import {
  Button,
  Group,
  List,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  Text,
  Title,
  type SelectProps,
} from "@mantine/core";
import { useState } from "react";
import { useSession } from "../../../app/session/session.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import type { ChosenFile } from "./file.step.tsx";
import { guessDateOrder, hasDateOrder, planProblems, repeatedNames, targetColumnsFor } from "./columns.ts";
import classes from "./import.module.css";
import { StepTitle } from "./steps.tsx";
import type { DateOrder, FileEncoding, ImportPlan } from "./import-api.ts";
import { useReferenceData } from "../use-reference-data.ts";
import { OrganizationSelect } from "../../operator/organizations/organization.select.tsx";
import { Alert } from "../../../components/status/alert.tsx";

interface MappingStepProps {
  chosen: ChosenFile;
  plan: ImportPlan;
  onBack: () => void;
  onMapped: (plan: ImportPlan) => void;
}

export function MappingStep({ chosen, plan: before, onBack, onMapped }: MappingStepProps) {
  const [plan, setPlan] = useState(before);
  const problems = planProblems(plan, chosen.sample.rows);
  const changeMapping = (mapping: ImportPlan["mapping"]): void =>
    setPlan({
      ...plan,
      mapping,
      dates: plan.dates ?? guessDateOrder({ ...plan, mapping }, chosen.sample.rows),
    });
  const unused = plan.mapping.filter((target) => target === null).length;
  return (
    <Stack maw={900} gap="lg">
      <div>
        <StepTitle>Columns of {chosen.file.name}</StepTitle>
        <Text c="dimmed" fz="sm" role="status">
          {unused === 0
            ? "All columns are imported."
            : `${unused} of ${plan.names.length} columns ${unused === 1 ? "is" : "are"} skipped.`}
        </Text>
      </div>
      {plan.encoding !== null && <EncodingNote encoding={plan.encoding} />}
      <MappingTable chosen={chosen} plan={plan} onChange={changeMapping} />
      {hasDateOrder(plan) && (
        <DateOrderSelect value={plan.dates} onChange={(dates) => setPlan({ ...plan, dates })} />
      )}
      <DefaultOrganizationFields plan={plan} onChange={setPlan} />
      {problems.length > 0 && <Problems problems={problems} />}
      <Group justify="space-between">
        <Button variant="default" onClick={onBack}>
          Choose another file{" "}
        </Button>
        <Button disabled={problems.length > 0} onClick={() => onMapped(plan)}>
          Preview
        </Button>
      </Group>
    </Stack>
  );
}

function EncodingNote({ encoding }: { encoding: FileEncoding }) {
  return (
    <Alert color="amber" title="Check letters with accents" role="status" guide="screen">
      The file is not in UTF-8, so it is read as {encodingLabels[encoding]}. If a name below looks wrong, save
      the file as “CSV UTF-8” or as an Excel workbook and choose it again.
    </Alert>
  );
}

const encodingLabels: Record<FileEncoding, string> = {
  "windows-1252": "Windows-1252, as Excel writes CSV in Western Europe",
  "utf-16le": "UTF-16, which Excel calls Unicode text",
};

interface SourceColumn {
  index: number;
  name: string;
  samples: string[];
}

interface MappingTableProps {
  chosen: ChosenFile;
  plan: ImportPlan;
  onChange: (mapping: (string | null)[]) => void;
}

function MappingTable({ chosen: { sample }, plan: { names, mapping }, onChange }: MappingTableProps) {
  const repeated = repeatedNames(names);
  const targets = targetColumnsFor(useSession());
  const rows = names.map((name, index): SourceColumn => ({
    index,
    name,
    samples: columnSamples(sample.rows, index),
  }));
  const columns: Column<SourceColumn>[] = [
    { id: "name", header: "Column in file", isTitle: true, cell: (source) => <SourceCell source={source} /> },
    {
      id: "target",
      header: "Import as",
      cell: ({ index, name }) =>
        repeated.has(name) ? (
          <Text fz="sm" c="dimmed">
            Skipped: duplicate column name
          </Text>
        ) : (
          <Select
            aria-label={`Import ${name || "unnamed column"} as`}
            placeholder="Skip"
            data={targets.map((target) => ({
              value: target.name,
              label: target.label,
              disabled: target.name !== mapping[index] && mapping.includes(target.name),
            }))}
            value={mapping[index] ?? null}
            onChange={(target) =>
              onChange(mapping.map((former, other) => (other === index ? target : former)))
            }
            searchable
            clearable
            clearButtonProps={{ "aria-label": "Skip column" }}
            w={{ base: 190, xs: 260 }}
          />
        ),
    },
  ];
  return <DataTable caption="Columns" columns={columns} rows={rows} rowKey={({ index }) => String(index)} />;
}

function columnSamples(rows: readonly string[][], index: number): string[] {
  return [...new Set(rows.map((row) => row[index] ?? "").filter((text) => text !== ""))].slice(0, 3);
}

function SourceCell({ source: { name, samples } }: { source: SourceColumn }) {
  return (
    <div>
      {name === "" ? <em>Unnamed</em> : name}
      <span className={classes.sample}>
        {samples.length === 0 ? "Empty in the first rows" : samples.join(" · ")}
      </span>
    </div>
  );
}

const dateOrders: { value: DateOrder; label: string }[] = [
  { value: "dmy", label: "Day first: 31/12/2026" },
  { value: "mdy", label: "Month first: 12/31/2026" },
];

interface DateOrderSelectProps {
  value: DateOrder | null;
  onChange: (order: DateOrder | null) => void;
}

function DateOrderSelect(props: DateOrderSelectProps) {
  return (
    <Select
      label="Dates in the file"
      description="Dates such as 2026-12-31 are always read."
      placeholder="2026-12-31"
      data={dateOrders}
      clearable
      clearButtonProps={{ "aria-label": "Dates as 2026-12-31 only" }}
      w={{ base: "100%", xs: 300 }}
      {...props}
    />
  );
}

interface DefaultOrganizationFieldsProps {
  plan: ImportPlan;
  onChange: (plan: ImportPlan) => void;
}

function DefaultOrganizationFields({ plan, onChange }: DefaultOrganizationFieldsProps) {
  const isOperator = useSession().organization === null;
  const hasContractor = plan.mapping.includes("contractor");
  const contractor = {
    label: "Contractor",
    description: hasContractor
      ? "Set by a column of the file. An empty cell means no contractor."
      : "Used for all rows. If empty, contractors stay unchanged.",
    placeholder: "None",
    value: plan.contractor,
    onChange: (id: string | null) => onChange({ ...plan, contractor: id }),
    disabled: hasContractor,
  };
  return (
    <Paper p="lg" component="section" aria-labelledby="organisations">
      <Title order={2} id="organisations" mb="sm">
        Organisations
      </Title>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {isOperator ? (
          <>
            <AgentSelect plan={plan} onChange={onChange} />
            <OrganizationSelect type="CONTRACTOR" {...contractor} />
          </>
        ) : (
          <OwnContractorSelect {...contractor} />
        )}
      </SimpleGrid>
    </Paper>
  );
}

function AgentSelect({ plan, onChange }: DefaultOrganizationFieldsProps) {
  return (
    <OrganizationSelect
      type="AGENT"
      label="Agent"
      description={
        plan.mapping.includes("agent")
          ? "Used for rows with an empty agent."
          : "Used for all rows. Without an agent, only existing jobs are updated."
      }
      placeholder="None"
      value={plan.agent}
      onChange={(agent) => onChange({ ...plan, agent })}
    />
  );
}

/** An agent names only contractors of its jobs. */
function OwnContractorSelect(props: SelectProps) {
  const { contractors } = useReferenceData();
  return (
    <Select
      {...props}
      data={contractors}
      searchable
      clearable
      clearButtonProps={{ "aria-label": "Clear" }}
      nothingFoundMessage="None of your jobs has another contractor"
    />
  );
}

function Problems({ problems }: { problems: readonly string[] }) {
  return (
    <Alert color="amber" title="Required" guide="screen">
      <List fz="sm">
        {problems.map((problem) => (
          <List.Item key={problem}>{problem}</List.Item>
        ))}
      </List>
    </Alert>
  );
}
