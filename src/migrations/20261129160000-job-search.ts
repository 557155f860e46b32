/**
 * The search text of jobs, in a table of its own: each change of a job writes all indexes of `job` (docs/decisions/0086). A trigger
 * keeps it current, also while processes of the former version still run. It can run again after a failure.
 */
import { Migration } from "@mikro-orm/migrations";

const ENCODING = `do $$ begin
    if getdatabaseencoding() <> 'UTF8' then
      raise exception 'The encoding of the database is %, and must be UTF8', getdatabaseencoding();
    end if; end $$;`;

const FUNCTIONS = [
  // Without accents, case, invisible characters and typographic quotes.
  String.raw`create or replace function search_fold(value text) returns text language sql immutable strict parallel safe
    return case when octet_length(value) = length(value) then lower(value) else
      translate(replace(replace(replace(replace(
        lower(regexp_replace(normalize(value, NFKD), '[\u00AD\u0300-\u036F\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]', '', 'g')),
        'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'øØłŁđĐðħŧıς’‘“”‐–—', 'oolldddhtiσ''''""---') end;`,
  // One field per line, and the digits of the phone number. Bounded, because a field of 1,000 Chinese characters has 3,000 tokens.
  `create or replace function search_text(marking_number text, recipient_name text, recipient_contact text, delivery_address text,
      postal_code text) returns text language sql immutable parallel safe
    return concat_ws(E'\\n',
      search_fold(concat_ws(E'\\n', marking_number, left(recipient_name, 100), left(recipient_contact, 100),
        left(delivery_address, 300), postal_code)),
      nullif(regexp_replace(search_fold(left(recipient_contact, 100)), '[^0-9]+', '', 'g'), ''));`,
  // All sequences of three bytes in words, which blanks, commas, semicolons and line ends separate. The cost keeps the planner from
  // computing it for each row instead of using the index. PL/pgSQL starts faster than SQL, once for each changed row.
  `create or replace function search_tokens(value text) returns int[] language plpgsql immutable strict parallel safe cost 10000
    as $$
    declare bytes bytea := convert_to(value, 'UTF8'); tokens int[] := '{}'; token int := 0; size int := 0; byte int;
    begin
      for at in 0..length(bytes) - 1 loop
        byte := get_byte(bytes, at);
        if byte in (10, 32, 44, 59) then
          size := 0;
        else
          token := (token << 8 | byte) & 16777215;
          size := size + 1;
          if size > 2 then tokens := tokens || token; end if;
        end if;
      end loop;
      return tokens;
    end $$;`,
];

const JOB_TEXT =
  "search_text(job.marking_number, job.recipient_name, job.recipient_contact, job.delivery_address, job.postal_code)";
const INDEXED = [
  "agent_id",
  "contractor_id",
  "recipient_name",
  "recipient_contact",
  "delivery_address",
  "postal_code",
];
const rowOf = (version: "old" | "new"): string => INDEXED.map((name) => `${version}.${name}`).join(", ");

const TRIGGERS = [
  `create or replace function write_job_search() returns trigger language plpgsql as $$
    begin
      insert into job_search (job_id, agent_id, contractor_id, text)
        values (new.id, new.agent_id, new.contractor_id, ${JOB_TEXT.replaceAll("job.", "new.")})
        on conflict (job_id) do update set agent_id = excluded.agent_id, contractor_id = excluded.contractor_id, text = excluded.text;
      return null;
    end $$;`,
  `create or replace function delete_job_search() returns trigger language plpgsql as $$
    begin delete from job_search where job_id = old.id; return null; end $$;`,
  `create or replace trigger job_search_insert after insert on job for each row execute function write_job_search();`,
  `create or replace trigger job_search_update after update on job for each row
    when ((${rowOf("old")}) is distinct from (${rowOf("new")})) execute function write_job_search();`,
  `create or replace trigger job_search_delete after delete on job for each row execute function delete_job_search();`,
];

/** Commits each batch, so that it holds no lock for long. A row that the trigger wrote meanwhile is newer, and stays. */
const FILL = `do $$
  declare batch uuid[]; last uuid := '00000000-0000-0000-0000-000000000000';
  begin
    loop
      batch := array(select id from job where id > last order by id limit 5000);
      exit when cardinality(batch) = 0;
      insert into job_search select id, agent_id, contractor_id, ${JOB_TEXT} from job where id = any(batch)
        on conflict do nothing;
      last := batch[cardinality(batch)];
      commit;
    end loop;
  end $$;`;

export class JobSearch extends Migration {
  override name = "20261129160000-job-search";

  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    this.addSql(ENCODING);
    this.addSql(`reset lock_timeout;`);
    for (const statement of FUNCTIONS) this.addSql(statement);
    this.addSql(
      `create table if not exists job_search (job_id uuid primary key, agent_id uuid not null, contractor_id uuid, text text not null);`,
    );
    for (const statement of TRIGGERS) this.addSql(statement);
    this.addSql(FILL);
    // They wait for all transactions, such as a backup, but nothing waits for them.
    this.addSql(`set lock_timeout = 0;`);
    this.addSql(`drop index concurrently if exists job_search_tokens;`);
    this.addSql(
      `create index concurrently job_search_tokens on job_search using gin (search_tokens(text), (array[agent_id, contractor_id]));`,
    );
    this.addSql(`reset lock_timeout;`);
    this.addSql(`analyze job_search;`);
  }
}
