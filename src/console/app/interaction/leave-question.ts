/** The text of the question before unsaved input is lost or running work stops. */
export interface LeaveQuestion {
  title: string;
  text: string;
  stay: string;
  leave: string;
}

export const discardQuestion: LeaveQuestion = {
  title: "Discard your changes?",
  text: "Your changes have not been saved.",
  stay: "Keep editing",
  leave: "Discard",
};
