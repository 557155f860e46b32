/** A dialog about something: what it is about stays while the dialog fades away. */
import { useState } from "react";

export interface DialogState<Subject> {
  /** Null: it was never opened. */
  subject: Subject | null;
  isOpen: boolean;
  /** Another one each time it is opened: a `key` for what starts anew then. */
  turn: number;
  open: (subject: Subject) => void;
  close: () => void;
}

export function useDialog<Subject>(): DialogState<Subject> {
  const [state, setState] = useState<{ subject: Subject | null; isOpen: boolean; turn: number }>({
    subject: null,
    isOpen: false,
    turn: 0,
  });
  return {
    ...state,
    open: (subject) => setState(({ turn }) => ({ subject, isOpen: true, turn: turn + 1 })),
    close: () => setState((former) => ({ ...former, isOpen: false })),
  };
}
