import { claimRecordedMs, stopsAfterMs } from '../outbox.ts'
import { nowMs, secondary } from './columns.ts'

/** Part of a statement of a transaction that copies a conversation: what the transaction appends is not recorded for subscribers. */
export const writeNoOutbox = "set_config('perdure.copies_log', 'on', true)"

/**
 * The outbox of subscribers. The trigger that writes the rows exists only while there are subscribers (`outbox.ts`), so that without them a commit costs
 * nothing, and with them the commits of every process write rows, whichever version it runs.
 * `outbox_lines` has one row for each subscriber and conversation with rows in `outbox`: it is what is claimed. A commit locks it (`DO UPDATE`), so that a line
 * is never deleted while a commit adds to it. Only retries by hand and deletions also lock several lines; should they wait in a circle, Postgres rolls one of
 * them back, and it is repeated. `commit_changes` sets attributes before it appends events, so that the agent is the one that the conversation has afterwards.
 */
export const outbox = (schema: string): string => `
  CREATE TABLE ${schema}.subscribers (
    name text COLLATE "C" PRIMARY KEY,
    agent text COLLATE "C",
    claimed_at bigint NOT NULL
  );
  CREATE TABLE ${schema}.subscriptions (
    type text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    PRIMARY KEY (type, subscriber)
  );
  CREATE TABLE ${schema}.outbox (
    tenant text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (tenant, conversation_id, subscriber, seq)
  );
  CREATE TABLE ${schema}.outbox_lines (
    tenant text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    due_at bigint NOT NULL,
    tries bigint NOT NULL DEFAULT 0,
    token bigint,
    PRIMARY KEY (tenant, conversation_id, subscriber)
  ) WITH (fillfactor = 80);
  CREATE INDEX outbox_lines_due ON ${schema}.outbox_lines (subscriber ${secondary}, due_at);
  CREATE TABLE ${schema}.outbox_failed (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    tries bigint NOT NULL,
    failed_at bigint NOT NULL,
    error text NOT NULL,
    UNIQUE (tenant, conversation_id, subscriber, seq)
  );
  CREATE INDEX outbox_failed_by_subscriber ON ${schema}.outbox_failed (subscriber, id);

  CREATE FUNCTION ${schema}.write_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF current_setting('perdure.copies_log', true) = 'on' THEN RETURN NULL; END IF;
    WITH written AS (
      INSERT INTO ${schema}.outbox (tenant, conversation_id, subscriber, seq)
        SELECT a.tenant, a.conversation_id, s.name, a.seq
        FROM added a
        JOIN ${schema}.subscriptions n ON n.type = a.type
        JOIN ${schema}.subscribers s ON s.name = n.subscriber
        JOIN ${schema}.conversations c ON c.tenant = a.tenant AND c.id = a.conversation_id
        WHERE a.at < s.claimed_at + ${stopsAfterMs} AND (s.agent IS NULL OR s.agent = c.agent)
        ON CONFLICT DO NOTHING
        RETURNING tenant, conversation_id, subscriber
    )
    INSERT INTO ${schema}.outbox_lines AS l (tenant, conversation_id, subscriber, due_at)
      SELECT tenant, conversation_id, subscriber, ${nowMs}
      FROM (SELECT DISTINCT tenant, conversation_id, subscriber FROM written) w ORDER BY 1, 2, 3
      ON CONFLICT (tenant, conversation_id, subscriber) DO UPDATE SET due_at = l.due_at;
    RETURN NULL;
  END $$;

  CREATE FUNCTION ${schema}.claim_deliveries(p_subscribers text[], p_limit bigint, p_lease_ms bigint, p_lapsed boolean)
  RETURNS TABLE (subscriber text, tenant text, "conversationId" text, seq bigint, tries bigint, token bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    v_now bigint := ${nowMs};
    v_conversation text;
  BEGIN
    UPDATE ${schema}.subscribers s SET claimed_at = v_now
      WHERE s.name = ANY (p_subscribers) AND s.claimed_at <= v_now - ${claimRecordedMs};
    FOREACH subscriber IN ARRAY p_subscribers LOOP
      FOR tenant, v_conversation, tries IN
        SELECT l.tenant, l.conversation_id, l.tries + p_lapsed::int FROM ${schema}.outbox_lines l
        WHERE l.subscriber ${secondary} = claim_deliveries.subscriber AND l.due_at <= v_now AND (l.token IS NOT NULL) = p_lapsed
        ORDER BY l.due_at LIMIT p_limit FOR UPDATE SKIP LOCKED
      LOOP
        SELECT min(o.seq) INTO seq FROM ${schema}.outbox o
          WHERE o.tenant = claim_deliveries.tenant AND o.conversation_id = v_conversation
            AND o.subscriber = claim_deliveries.subscriber;
        IF seq IS NULL THEN
          DELETE FROM ${schema}.outbox_lines l
            WHERE l.tenant = claim_deliveries.tenant AND l.conversation_id = v_conversation
              AND l.subscriber = claim_deliveries.subscriber;
          CONTINUE;
        END IF;
        token := nextval('${schema}.epochs');
        UPDATE ${schema}.outbox_lines l SET due_at = v_now + p_lease_ms, tries = claim_deliveries.tries, token = claim_deliveries.token
          WHERE l.tenant = claim_deliveries.tenant AND l.conversation_id = v_conversation
            AND l.subscriber = claim_deliveries.subscriber;
        "conversationId" := v_conversation;
        RETURN NEXT;
      END LOOP;
    END LOOP;
  END $$;

  -- Returns no row when the line is lost; the seq is null when no next delivery is taken along. Repeating it changes nothing.
  CREATE FUNCTION ${schema}.settle_delivery(
    p_tenant text, p_id text, p_subscriber text, p_seq bigint, p_tries bigint, p_token bigint,
    p_end text, p_ms bigint, p_tries_after bigint, p_error text
  ) RETURNS TABLE (seq bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    v_now bigint := ${nowMs};
  BEGIN
    PERFORM 1 FROM ${schema}.outbox_lines l
      WHERE l.tenant = p_tenant AND l.conversation_id = p_id AND l.subscriber = p_subscriber AND l.token = p_token
      FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    IF p_end <> 'again' THEN
      WITH gone AS (
        DELETE FROM ${schema}.outbox o
          WHERE o.tenant = p_tenant AND o.conversation_id = p_id AND o.subscriber = p_subscriber AND o.seq = p_seq
          RETURNING o.seq
      )
      INSERT INTO ${schema}.outbox_failed (tenant, conversation_id, subscriber, seq, tries, failed_at, error)
        SELECT p_tenant, p_id, p_subscriber, gone.seq, p_tries + 1, v_now, p_error FROM gone WHERE p_end = 'failed'
        ON CONFLICT DO NOTHING;
    END IF;
    SELECT min(o.seq) INTO seq FROM ${schema}.outbox o
      WHERE o.tenant = p_tenant AND o.conversation_id = p_id AND o.subscriber = p_subscriber;
    IF seq IS NULL THEN
      DELETE FROM ${schema}.outbox_lines l
        WHERE l.tenant = p_tenant AND l.conversation_id = p_id AND l.subscriber = p_subscriber;
    ELSE
      UPDATE ${schema}.outbox_lines l SET
          due_at = v_now + coalesce(p_ms, 0),
          tries = CASE WHEN p_end = 'again' AND settle_delivery.seq = p_seq THEN p_tries_after ELSE 0 END,
          token = CASE WHEN p_end = 'again' OR p_ms IS NULL THEN NULL ELSE l.token END
        WHERE l.tenant = p_tenant AND l.conversation_id = p_id AND l.subscriber = p_subscriber;
    END IF;
    IF p_end = 'again' OR p_ms IS NULL THEN seq := NULL; END IF;
    RETURN NEXT;
  END $$;

  -- Locks the lines first, as everything does that writes to one.
  CREATE FUNCTION ${schema}.retry_failed(p_ids bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    v_now bigint := ${nowMs};
    v_count bigint;
  BEGIN
    INSERT INTO ${schema}.outbox_lines AS l (tenant, conversation_id, subscriber, due_at)
      SELECT DISTINCT f.tenant, f.conversation_id, f.subscriber, v_now FROM ${schema}.outbox_failed f
      WHERE f.id = ANY (p_ids) ORDER BY 1, 2, 3
      ON CONFLICT (tenant, conversation_id, subscriber) DO UPDATE SET
        -- A delivery that is under way comes first: a line has one at a time.
        due_at = CASE WHEN l.token IS NULL THEN excluded.due_at ELSE l.due_at END,
        tries = CASE WHEN l.token IS NULL THEN 0 ELSE l.tries END;
    WITH gone AS (
      DELETE FROM ${schema}.outbox_failed f WHERE f.id = ANY (p_ids)
        RETURNING f.tenant, f.conversation_id, f.subscriber, f.seq
    )
    INSERT INTO ${schema}.outbox (tenant, conversation_id, subscriber, seq)
      SELECT tenant, conversation_id, subscriber, seq FROM gone ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
  END $$;

  -- A commit that begins after this one has ended writes rows for the subscriber: creating the trigger waits for the commits that are under way.
  CREATE FUNCTION ${schema}.register_subscriber(p_name text, p_agent text, p_types text[])
  RETURNS TABLE (now bigint, claimed_at bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    v_before text[];
  BEGIN
    now := ${nowMs};
    SELECT s.claimed_at INTO claimed_at FROM ${schema}.subscribers s WHERE s.name = p_name;
    INSERT INTO ${schema}.subscribers AS s (name, agent, claimed_at) VALUES (p_name, p_agent, now)
      ON CONFLICT (name) DO UPDATE SET agent = excluded.agent, claimed_at = excluded.claimed_at;
    SELECT coalesce(array_agg(n.type), '{}') INTO v_before FROM ${schema}.subscriptions n WHERE n.subscriber = p_name;
    DELETE FROM ${schema}.subscriptions n WHERE n.subscriber = p_name AND NOT n.type = ANY (p_types);
    INSERT INTO ${schema}.subscriptions (type, subscriber) SELECT unnest(p_types), p_name ON CONFLICT DO NOTHING;
    IF NOT v_before <@ p_types THEN
      DELETE FROM ${schema}.outbox o WHERE o.subscriber = p_name AND NOT EXISTS (
        SELECT FROM ${schema}.events e
        WHERE e.tenant = o.tenant AND e.conversation_id = o.conversation_id AND e.seq = o.seq AND e.type = ANY (p_types)
      );
    END IF;
    IF NOT EXISTS (
      SELECT FROM pg_trigger t WHERE t.tgrelid = '${schema.replaceAll("'", "''")}.events'::regclass AND t.tgname = 'outbox_rows'
    ) THEN
      CREATE TRIGGER outbox_rows AFTER INSERT ON ${schema}.events
        REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.write_outbox();
    END IF;
    RETURN NEXT;
  END $$;

  CREATE FUNCTION ${schema}.remove_subscriber(p_name text) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    v_found boolean;
  BEGIN
    DELETE FROM ${schema}.subscriptions n WHERE n.subscriber = p_name;
    DELETE FROM ${schema}.subscribers s WHERE s.name = p_name;
    v_found := FOUND;
    DELETE FROM ${schema}.outbox_lines l WHERE l.subscriber = p_name;
    DELETE FROM ${schema}.outbox o WHERE o.subscriber = p_name;
    DELETE FROM ${schema}.outbox_failed f WHERE f.subscriber = p_name;
    IF NOT EXISTS (SELECT FROM ${schema}.subscribers) THEN
      BEGIN
        DROP TRIGGER IF EXISTS outbox_rows ON ${schema}.events;
      EXCEPTION WHEN lock_not_available THEN
        -- Without subscriptions the trigger writes nothing.
        NULL;
      END;
    END IF;
    RETURN v_found;
  END $$;
`
