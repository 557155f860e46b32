/** MikroORM for its command line (`npm run migration:create`); the program itself configures it in `platform/database.ts`. */
import { ormOptions } from "./src/platform/database.ts";
import { entities } from "./src/entities.ts";

export default ormOptions({ url: "postgresql://waymark@127.0.0.1:54330/waymark", poolSize: 2, entities });
