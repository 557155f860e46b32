/** The colours of statuses, by meaning. */

export type Tone = "neutral" | "progress" | "success" | "attention" | "danger" | "return" | "muted";

export type StatusCategory = "OPEN" | "IN_PROGRESS" | "SUCCESS" | "ATTENTION" | "RETURN" | "CANCELLED";

const TONES: Readonly<Record<StatusCategory, Tone>> = {
  OPEN: "neutral",
  IN_PROGRESS: "progress",
  SUCCESS: "success",
  ATTENTION: "attention",
  RETURN: "return",
  CANCELLED: "muted",
};

export function toneOf(category: StatusCategory): Tone {
  return TONES[category];
}
