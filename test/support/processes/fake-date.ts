/** A time of day that a test sets, in this process alone, as an operator or NTP would: whatever asks for it is told so. */

const RealDate = Date;
let offsetMs = 0;

const now = (): number => RealDate.now() + offsetMs;

const FakeDate = new Proxy(RealDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as Date,
  get: (target, name): unknown => (name === "now" ? now : Reflect.get(target, name)),
});

/** From now on it is so much later than it is; 0: it is what it is. Timers, and what only goes on, go on as they did. */
export function setDateOffset(ms: number): void {
  offsetMs = ms;
  globalThis.Date = FakeDate;
}
