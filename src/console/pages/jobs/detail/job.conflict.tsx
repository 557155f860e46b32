/** A field that two users changed: both values, and a button for each. */
import { Button, Group, Text } from "@mantine/core";
import { fieldLabel, type FieldName } from "../job.fields.ts";
import type { FieldConflict } from "./job.merge.ts";
import classes from "./job.module.css";
import { formatValue, type ReferenceLabels } from "../job.labels.ts";

interface ConflictChoiceProps {
  conflict: FieldConflict;
  labels: ReferenceLabels;
  onChoose: (name: FieldName, value: string) => void;
}

export function ConflictChoice({
  conflict: { name, base, mine, theirs },
  labels,
  onChoose,
}: ConflictChoiceProps) {
  const label = fieldLabel(name);
  return (
    <div className={classes.conflict} role="group" aria-label={label}>
      <Text fz="sm" style={{ overflowWrap: "anywhere" }}>
        <strong>{label}</strong> was {formatValue(name, base, labels)}. Theirs:{" "}
        <strong>{formatValue(name, theirs, labels)}</strong>. Yours:{" "}
        <strong>{formatValue(name, mine, labels)}</strong>.
      </Text>
      <Group gap="xs" mt="xs">
        <Button size="xs" variant="default" onClick={() => onChoose(name, theirs)}>
          Use theirs
        </Button>
        <Button size="xs" variant="default" onClick={() => onChoose(name, mine)}>
          Keep mine
        </Button>
      </Group>
    </div>
  );
}
