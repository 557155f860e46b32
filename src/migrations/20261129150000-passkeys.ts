/** Users' passkeys. */
import { Migration } from "@mikro-orm/migrations";

export class Passkeys extends Migration {
  override name = "20261129150000-passkeys";

  override up(): void {
    this.addSql(
      `create table "user_passkey" ("id" uuid not null, "user_id" uuid not null, "name" text not null, "credential_id" text not null, "public_key" text not null, "counter" double precision not null, "device_type" text not null, "backed_up" boolean not null, "transports" text null, "aaguid" text null, "created_at" timestamptz(3) not null default now(), "last_used_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "user_passkey" add constraint "user_passkey_credential_id_unique" unique ("credential_id");`,
    );
    this.addSql(`create index "user_passkey_user" on "user_passkey" ("user_id");`);
    this.addSql(
      `alter table "user_passkey" add constraint "user_passkey_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );
  }
}
