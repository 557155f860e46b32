/** Replaces `Date` in this process by one that a test can shift, like a change of the system clock. */

const RealDate = Date;
let offsetMs = 0;

const now = (): number => RealDate.now() + offsetMs;

const FakeDate = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as Date,
  get: (target, name): unknown => (name === "now" ? now : Reflect.get(target, name)),
});

/** Shifts the time of day from the real time. Timers and `performance.now()` are not affected. */
export function setDateOffset(ms: number): void {
  offsetMs = ms;
  globalThis.Date = FakeDate;
}
