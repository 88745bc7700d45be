import pg from 'pg'
import { quarantineHolder } from '../../../src/store/lease.ts'

/** A lease that was taken, as a trigger saw it in the transaction that took it. Counts are of live leases, its own included. */
export type TakenLease = {
  readonly id: string
  readonly at: number
  readonly agent: string
  readonly account: string | null
  /** The last event in the log, that of the same commit included. */
  readonly lastSeq: number
  readonly isPaused: boolean
  readonly ofTenant: number
  readonly ofAgent: number
  readonly ofAccount: number
}

/** `renewedLate`: when leases were renewed that had lapsed: their slots may have been given to others. */
export type LeaseAudit = { readonly taken: readonly TakenLease[]; readonly renewedLate: readonly number[] }

const now = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
const passes = `(c.terminating OR c.child_of IS NOT NULL)`
const isPaused = `EXISTS (SELECT FROM perdure.pauses p WHERE p.kind = 'agent' AND p.name = NEW.agent
  OR p.kind = 'tenant' AND p.tenant = NEW.tenant OR p.kind = 'conversation' AND p.tenant = NEW.tenant AND p.name = NEW.id)`

/**
 * A row trigger runs once its statement has changed all of its rows. So what passes limits and was taken by the same statement does not count: it may have been the
 * later one.
 */
const trigger = `
  CREATE TABLE public.taken_leases (
    n bigint GENERATED ALWAYS AS IDENTITY, id text, at bigint, agent text, account text, "lastSeq" bigint, "isPaused" boolean,
    "ofTenant" bigint, "ofAgent" bigint, "ofAccount" bigint
  );
  CREATE TABLE public.renewed_late (at bigint);
  CREATE FUNCTION public.audit_lease() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'UPDATE' AND NEW.epoch IS NOT DISTINCT FROM OLD.epoch THEN
      IF OLD.leased_until <= ${now} AND NEW.leased_until > OLD.leased_until THEN
        INSERT INTO public.renewed_late VALUES (${now});
      END IF;
      RETURN NULL;
    END IF;
    INSERT INTO public.taken_leases (id, at, agent, account, "lastSeq", "isPaused", "ofTenant", "ofAgent", "ofAccount")
      SELECT NEW.id, ${now}, NEW.agent, NEW.account, NEW.last_seq, ${isPaused},
        count(*) FILTER (WHERE c.tenant = NEW.tenant), count(*) FILTER (WHERE c.agent = NEW.agent), count(*) FILTER (WHERE c.account = NEW.account)
      FROM perdure.conversations c
      WHERE c.holder <> '${quarantineHolder}' AND c.leased_until > ${now} AND c.kind = 'conversation'
        AND NOT (${passes} AND c.id <> NEW.id AND c.xmin::text::bigint = txid_current() % (1::bigint << 32));
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit_lease AFTER INSERT OR UPDATE ON perdure.conversations
    FOR EACH ROW WHEN (NEW.holder IS NOT NULL AND NEW.holder <> '${quarantineHolder}') EXECUTE FUNCTION public.audit_lease();
`

/** Must be called once the store has made its tables. */
export async function beginLeaseAudit(url: string): Promise<void> {
  await query(url, trigger)
}

export async function readLeaseAudit(url: string): Promise<LeaseAudit> {
  const taken = await query(url, 'SELECT * FROM public.taken_leases ORDER BY n')
  const late = await query(url, 'SELECT at FROM public.renewed_late ORDER BY at')
  return {
    taken: taken.map(({ n: _, ...row }) => ({
      ...(row as unknown as TakenLease),
      ...Object.fromEntries(numbers.map((name) => [name, Number(row[name])])),
    })),
    renewedLate: late.map(({ at }) => Number(at)),
  }
}

const numbers = ['at', 'lastSeq', 'ofTenant', 'ofAgent', 'ofAccount'] as const

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}
