/** The first step: choose a file. The server reads its first rows; nothing is imported yet. */
import { Button, FileButton, List, Paper, Stack, Text, Title } from "@mantine/core";
import { IconFileUpload } from "@tabler/icons-react";
import { useState, type DragEvent } from "react";
import { useSession, type Session } from "../../../app/session/session.ts";
import { CodeBlock } from "../../../components/display/code-block.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { guessDateOrder, guessMapping, targetColumnsFor } from "./columns.ts";
import { readFileSample, type FileSample } from "./file-sample.ts";
import classes from "./import.module.css";
import { contentTypes, detectFormat, type ImportPlan } from "./import-api.ts";

export interface ChosenFile {
  file: File;
  sample: FileSample;
}

interface FileStepProps {
  onChosen: (chosen: ChosenFile, plan: ImportPlan) => void;
}

export function FileStep({ onChosen }: FileStepProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const [isReading, setReading] = useState(false);
  const session = useSession();
  const choose = async (file: File | undefined | null): Promise<void> => {
    if (!file || isReading) return;
    setReading(true);
    try {
      const [chosen, plan] = await openFile(file, session);
      setProblem(null);
      onChosen(chosen, plan);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : "This file can’t be read.");
    } finally {
      setReading(false);
    }
  };
  return (
    <Stack maw={760}>
      <FormAlert failure={problem === null ? null : { message: problem, guide: "screen" }} />
      <DropArea isReading={isReading} onFile={(file) => void choose(file)} />
      <FileFormatHelp />
    </Stack>
  );
}

async function openFile(file: File, session: Session): Promise<[ChosenFile, ImportPlan]> {
  const format = detectFormat(file.name);
  if (format === null) throw new Error("Choose a file whose name ends with .csv, .xlsx, .ndjson or .jsonl.");
  const { sample, ...form } = await readFileSample(file, format);
  const { names, rows } = sample;
  const mapping = guessMapping(names, targetColumnsFor(session));
  const plan = {
    fileName: file.name,
    format,
    ...form,
    names,
    mapping,
    dates: guessDateOrder({ format, mapping }, rows),
    agent: null,
    contractor: null,
  };
  return [{ file, sample }, plan];
}

interface DropAreaProps {
  isReading: boolean;
  onFile: (file: File | null | undefined) => void;
}

function DropArea({ isReading, onFile }: DropAreaProps) {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent): void => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    onFile(event.dataTransfer.files[0]);
  };
  return (
    // The button inside is accessible to everyone; dropping is a shortcut for mouse users.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <section
      className={classes.drop}
      aria-label="File"
      data-over={isOver || undefined}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <IconFileUpload size={40} stroke={1.4} aria-hidden="true" />
      <Text fw={600}>Drop a CSV, Excel or NDJSON file here</Text>
      <FileButton
        onChange={onFile}
        accept={`.csv,.xlsx,.ndjson,.jsonl,${Object.values(contentTypes).join(",")}`}
        inputProps={{ "aria-label": "File to import" }}
      >
        {(button) => (
          <Button {...button} loading={isReading}>
            Choose a file
          </Button>
        )}
      </FileButton>
      <Text fz="sm" c="dimmed">
        CSV and NDJSON up to 256 MB, Excel (.xlsx) up to 16 MB.
      </Text>
    </section>
  );
}

const EXAMPLE_CSV = `marking_number,recipient_name,delivery_address,scheduled_date
WM-2026-0001,Harbour Street Bakery,"12 Harbour Street, #04-01",2026-11-24`;

function FileFormatHelp() {
  const isOperator = useSession().organization === null;
  return (
    <Paper component="section" p="lg" aria-labelledby="file-format">
      <Title order={2} id="file-format" mb="sm">
        File format
      </Title>
      <List fz="sm" spacing={6} mb="md">
        <List.Item>
          A header row with column names in any order. You map the columns in the next step. Exported jobs can
          be imported unchanged. Of a workbook, the first sheet is read.
        </List.Item>
        <List.Item>
          A missing column leaves that field of existing jobs unchanged. An empty cell clears it.
        </List.Item>
        <List.Item>
          Dates as 2026-12-31, or dates of Excel. For the text 31/12/2026 or 12/31/2026, you choose the order
          in the next step.
        </List.Item>
        <List.Item>
          {isOperator
            ? "Agents and contractors are given by exact name or ID, or once for the whole file."
            : "Contractors are given by exact name, or once for the whole file. Your first job with a contractor is assigned by the operator."}
        </List.Item>
        <List.Item>Rows with errors are skipped and listed. All other rows are imported.</List.Item>
      </List>
      <CodeBlock code={EXAMPLE_CSV} label="example file" />
    </Paper>
  );
}
