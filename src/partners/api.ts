/** The exports of this feature: other features and the adapters import only from here. */
export { activitiesOf } from "./activity.sql.ts";
export { numbersOf } from "./numbers.sql.ts";
export { storageOf } from "./storage.sql.ts";
export { type Attention, organizationsNeedingAttention } from "./attention.sql.ts";
