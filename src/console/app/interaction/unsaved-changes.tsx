/** Asks before unsaved input is lost: when a dialog closes, and when the page is left, reloaded or signed out of. */
import { useBlocker } from "@tanstack/react-router";
import { createContext, use, useEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import { later } from "../later.tsx";
import { useSessionStore } from "../session/session.ts";
import { discardQuestion, type LeaveQuestion } from "./leave-question.ts";

const DiscardPrompt = later(
  async () => (await import("../../components/dialogs/discard-prompt.tsx")).DiscardPrompt,
);

/** `locked`: a request is in flight, or a secret is shown that cannot be shown again. Only dialogs can be locked. */
export type InputState = "clean" | "changed" | "locked" | LeaveQuestion;

type Inputs = Set<() => InputState>;

interface UnsavedChanges {
  inputs: Inputs;
  /** Resolves to true if nothing is lost or the user agrees to lose it. */
  confirmDiscard: (inputs: Inputs) => Promise<boolean>;
  /** Asks for the whole page. If the user agrees, the browser does not ask again. */
  confirmLeave: () => Promise<boolean>;
}

const UnsavedChangesContext = createContext<UnsavedChanges | null>(null);

interface DialogControl {
  inputs: Inputs;
  isOpen: RefObject<boolean>;
  /** Closes the dialog, unless the user decides to keep unsaved input. */
  requestClose: () => Promise<void>;
}

const DialogContext = createContext<DialogControl | null>(null);

export const DialogProvider = DialogContext;

/** The dialog around a component; null on a page. */
export function useDialogControl(): DialogControl | null {
  return use(DialogContext);
}

export function useUnsavedChanges(): UnsavedChanges {
  const unsaved = use(UnsavedChangesContext);
  if (!unsaved) throw new Error("useUnsavedChanges must be used inside UnsavedChangesProvider");
  return unsaved;
}

function hasInput(inputs: Inputs): boolean {
  return [...inputs].some((read) => read() !== "clean");
}

/** Registers a form. `state` is read on each attempt to leave. */
export function useUnsavedInput(state: () => InputState): void {
  const { inputs } = useUnsavedChanges();
  const dialog = useDialogControl();
  const latest = useRef(state);
  useEffect(() => {
    latest.current = state;
  });
  useEffect(() => {
    const read = (): InputState => {
      // A dialog that is fading out is already closed.
      if (dialog) return dialog.isOpen.current ? latest.current() : "clean";
      const now = latest.current();
      return now === "locked" ? "changed" : now;
    };
    const registries = dialog ? [inputs, dialog.inputs] : [inputs];
    for (const registry of registries) registry.add(read);
    return () => {
      for (const registry of registries) registry.delete(read);
    };
  }, [inputs, dialog]);
}

function jobIn(search: object): unknown {
  return "job" in search ? search.job : undefined;
}

export function UnsavedChangesProvider({ children }: { children: ReactNode }) {
  const [question, setQuestion] = useState(discardQuestion);
  const [answer, setAnswer] = useState<((isDiscarded: boolean) => void) | null>(null);
  const isAsking = useRef(false);
  const askToDiscard = (next: LeaveQuestion): Promise<boolean> => {
    // Escape also reaches the dialog below this prompt.
    if (isAsking.current) return Promise.resolve(false);
    isAsking.current = true;
    setQuestion(next);
    return new Promise((resolve) => {
      setAnswer(() => (isDiscarded: boolean) => {
        isAsking.current = false;
        setAnswer(null);
        resolve(isDiscarded);
      });
    });
  };
  const latestAskToDiscard = useRef(askToDiscard);
  const [unsaved] = useState<UnsavedChanges>(() => {
    const all: Inputs = new Set();
    const confirmDiscard = async (inputs: Inputs): Promise<boolean> => {
      const states = [...inputs].map((read) => read());
      if (states.includes("locked")) return false;
      const asked = states.find((state) => typeof state === "object");
      if (!asked && !states.includes("changed")) return true;
      return await latestAskToDiscard.current(asked ?? discardQuestion);
    };
    const confirmLeave = async (): Promise<boolean> => {
      const isFree = await confirmDiscard(all);
      if (isFree) all.clear();
      return isFree;
    };
    return { inputs: all, confirmDiscard, confirmLeave };
  });
  const store = useSessionStore();
  useEffect(() => store.watchInput(() => hasInput(unsaved.inputs)), [store, unsaved]);
  useBlocker({
    // Filters in the URL change without leaving the page. The job in its panel does not.
    shouldBlockFn: async ({ current, next }) =>
      (current.pathname !== next.pathname || jobIn(current.search) !== jobIn(next.search)) &&
      !(await unsaved.confirmDiscard(unsaved.inputs)),
    enableBeforeUnload: () => hasInput(unsaved.inputs),
  });
  return (
    <UnsavedChangesContext value={unsaved}>
      {children}
      <DiscardPrompt question={question} onAnswer={answer} />
    </UnsavedChangesContext>
  );
}
