/** Editing many jobs at once: nothing changes before it was seen what would. */
import { useUnsaved } from "../../app/unsaved.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { counted } from "./job.words.ts";
import { ChooseFields } from "./edit-many.choose.tsx";
import { PreviewChanges } from "./edit-many.preview.tsx";
import { ShowOutcome } from "./edit-many.outcome.tsx";
import classes from "./jobs.module.css";
import type { Choices } from "./use-choices.ts";
import { useEditMany } from "./use-edit-many.ts";
import { useFieldChoice } from "./use-field-choice.ts";

interface EditManyDrawerProps {
  opened: boolean;
  markingNumbers: readonly string[];
  choices: Choices;
  onClose: () => void;
  /** Jobs have changed. */
  onApplied: () => void;
}

export function EditManyDrawer(props: EditManyDrawerProps) {
  const { opened, markingNumbers, onClose } = props;
  return (
    <Dialog
      isDrawer
      opened={opened}
      onClose={onClose}
      className={classes.drawer}
      size="lg"
      title={`Edit ${counted(markingNumbers.length, "job")}`}
    >
      <EditManySteps {...props} />
    </Dialog>
  );
}

/** It is made anew each time that the drawer opens. */
function EditManySteps({ markingNumbers, choices, onClose, onApplied }: EditManyDrawerProps) {
  const edit = useEditMany(markingNumbers, onApplied);
  const chosen = useFieldChoice();
  const { step } = edit;
  useUnsaved(() => {
    if (edit.isBusy) return "locked";
    return step.kind !== "done" && chosen.names.length > 0 ? "changed" : "clean";
  });
  if (step.kind === "preview") return <PreviewChanges edit={edit} plan={step.plan} names={choices.names} />;
  if (step.kind === "done") return <ShowOutcome outcome={step.outcome} onClose={onClose} />;
  return <ChooseFields edit={edit} chosen={chosen} choices={choices} />;
}
