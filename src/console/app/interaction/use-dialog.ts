/** The state of a dialog about one subject. The subject stays set while the dialog fades out. */
import { useState } from "react";

export interface DialogState<Subject> {
  /** Null until the dialog is first opened. */
  subject: Subject | null;
  isOpen: boolean;
  /** Increases each time the dialog opens; used as `key` to reset its content. */
  openCount: number;
  open: (subject: Subject) => void;
  close: () => void;
}

export function useDialog<Subject>(): DialogState<Subject> {
  const [state, setState] = useState<{ subject: Subject | null; isOpen: boolean; openCount: number }>({
    subject: null,
    isOpen: false,
    openCount: 0,
  });
  return {
    ...state,
    open: (subject) => setState(({ openCount }) => ({ subject, isOpen: true, openCount: openCount + 1 })),
    close: () => setState((former) => ({ ...former, isOpen: false })),
  };
}
