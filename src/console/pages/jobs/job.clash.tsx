/** Two people changed the same field: both values side by side, and a button for each. */
import { Button, Group, Text } from "@mantine/core";
import { labelOfField, type FieldName } from "./job.fields.ts";
import type { Clash } from "./job.merge.ts";
import classes from "./job.module.css";
import { inWords, type Names } from "./job.words.ts";

interface ClashChoiceProps {
  clash: Clash;
  names: Names;
  onChoose: (name: FieldName, value: string) => void;
}

export function ClashChoice({ clash: { name, was, mine, theirs }, names, onChoose }: ClashChoiceProps) {
  const label = labelOfField(name);
  return (
    <div className={classes.clash} role="group" aria-label={label}>
      <Text fz="sm" style={{ overflowWrap: "anywhere" }}>
        <strong>{label}</strong> was {inWords(name, was, names)}. Theirs:{" "}
        <strong>{inWords(name, theirs, names)}</strong>. Yours: <strong>{inWords(name, mine, names)}</strong>.
      </Text>
      <Group gap="xs" mt="xs">
        <Button size="xs" variant="default" onClick={() => onChoose(name, theirs)}>
          Take theirs
        </Button>
        <Button size="xs" variant="default" onClick={() => onChoose(name, mine)}>
          Keep mine
        </Button>
      </Group>
    </div>
  );
}
