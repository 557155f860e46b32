/** MikroORM for its command line (`npx mikro-orm migration:create`); the program configures it in `core/postgres/database.ts`. */
import { readEnv } from "./src/config/env.ts";
import { entities } from "./src/app/entities.ts";
import { ormOptions } from "./src/core/postgres/orm-options.ts";

// A new migration is the difference to the snapshot: it needs no database, only an address to parse.
const url = readEnv().DATABASE_URL ?? "postgresql://waymark@127.0.0.1:5432/waymark";

export default ormOptions({ url, poolSize: 2, entities });
