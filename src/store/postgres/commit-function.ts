import { claimedColumns, isNotPaused, isQuarantined, lapsedAfter, nowMs, secondary } from './columns.ts'

/**
 * Commits a batch of changes in one statement, so in one transaction and one round trip. Arrays named p_* have an element per change; those of events (e_),
 * attributes (a_), resolves (r_), calls (c_), blobs (b_) and leases (l_) name their change by its position. Changes of one wave touch different conversations
 * and call ids; waves run one after the other. A refused change writes nothing and does not affect the others.
 */
export const createCommitFunction = (schema: string): string => `
  CREATE FUNCTION ${schema}.commit_changes(
    p_waves integer, p_merged_settings boolean, p_wave integer[],
    p_tenant text[], p_id text[], p_expected_seq bigint[], p_epoch bigint[], p_key text[], p_digest text[],
    p_creates boolean[], p_event_count integer[], p_status text[], p_fsm_state text[],
    p_wake text[], p_wake_ms bigint[], p_releases boolean[], p_has_settings boolean[],
    e_change integer[], e_index integer[], e_type text[], e_content text[],
    a_change integer[] = '{}', a_kind text[] = '{}', a_agent text[] = '{}', a_settings text[] = '{}', a_title text[] = '{}',
    a_sets_title boolean[] = '{}', a_parent text[] = '{}', a_child_of text[] = '{}',
    r_change integer[] = '{}', r_call text[] = '{}', r_round bigint[] = '{}', r_status text[] = '{}', r_result text[] = '{}',
    r_event integer[] = '{}', r_due boolean[] = '{}',
    c_change integer[] = '{}', c_id text[] = '{}', c_name text[] = '{}', c_executor text[] = '{}', c_status text[] = '{}',
    c_args text[] = '{}', c_result text[] = '{}', c_round bigint[] = '{}', c_kind text[] = '{}', c_prompt text[] = '{}',
    c_expires_in bigint[] = '{}',
    b_change integer[] = '{}', b_hash text[] = '{}',
    l_change integer[] = '{}', l_holder text[] = '{}', l_ms bigint[] = '{}',
    p_expected_at bigint[] = '{}', p_expected_agent text[] = '{}', p_needs_free boolean[] = '{}',
    p_idle_seq bigint[] = '{}', l_suspects boolean[] = '{}', c_meta text[] = '{}', a_owner text[] = '{}', c_note text[] = '{}',
    l_tenant_limit bigint[] = '{}', l_agent_limit bigint[] = '{}', l_account text[] = '{}', l_account_limit bigint[] = '{}'
  ) RETURNS TABLE (change integer, outcome text, seq bigint, at bigint, call_id text, round bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    v_has_keys boolean := cardinality(array_remove(p_key, NULL)) > 0;
    v_has_placeholders boolean := false;
    v_now bigint;
    v_wave integer;
    v_lease integer;
    v_last_seq bigint;
    v_count bigint;
    -- The log's last seq before each accepted change; null for a refused one.
    v_base bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_id)]);
    -- The epoch of the lease that each change took.
    v_epoch bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_id)]);
  BEGIN
    -- Lock first, in one order for all, so that batches wait for each other and never in a circle. What a change may create is
    -- inserted as a placeholder, so that there is a row to lock.
    LOOP
      -- Counted by what was locked: a row that another transaction creates a moment later is not, and has to be locked in the next round.
      SELECT count(*) FILTER (WHERE locked.creates) INTO v_count FROM (
        SELECT x.creates
        FROM unnest(p_tenant, p_id, p_creates) x (tenant, id, creates)
        JOIN ${schema}.conversations c ON c.tenant = x.tenant AND c.id = x.id
        ORDER BY c.tenant, c.id
        FOR UPDATE OF c
      ) locked;
      EXIT WHEN v_count = cardinality(array_positions(p_creates, true));
      INSERT INTO ${schema}.conversations (tenant, id, created_at, updated_at)
        SELECT DISTINCT x.tenant, x.id, 0, 0
        FROM unnest(p_tenant, p_id, p_creates) x (tenant, id, creates)
        WHERE x.creates
        ORDER BY x.tenant, x.id
        ON CONFLICT DO NOTHING;
      v_has_placeholders := v_has_placeholders OR FOUND;
    END LOOP;
    IF cardinality(b_hash) > 0 THEN
      PERFORM 1
        FROM unnest(b_change, b_hash) x (change, hash)
        JOIN ${schema}.blobs b ON b.tenant = p_tenant[x.change] AND b.hash = x.hash
        ORDER BY b.tenant, b.hash
        FOR UPDATE OF b;
    END IF;
    v_now := ${nowMs};

    FOR v_wave IN 1 .. p_waves LOOP
      IF cardinality(r_change) + cardinality(c_change) > 0 THEN
        ${judge(schema, true)}
      ELSE
        ${judge(schema, false)}
      END IF;

      UPDATE ${schema}.conversations c SET
        last_seq = c.last_seq + x.event_count,
        status = CASE WHEN x.wake = 'expiry' AND NOT c.is_dormant THEN 'active' ELSE coalesce(x.status, c.status) END,
        fsm_state = coalesce(x.fsm_state, c.fsm_state),
        idle_seq = coalesce(x.idle_seq, c.idle_seq),
        wake_at = CASE
          WHEN x.wake = 'in' THEN v_now + x.wake_ms
          WHEN x.wake = 'clear' THEN NULL
          WHEN x.wake = 'expiry' AND NOT c.is_dormant THEN v_now
          ELSE c.wake_at
        END,
        is_dormant = c.is_dormant AND x.wake <> 'in',
        holder = CASE WHEN NOT x.releases THEN c.holder END,
        epoch = CASE WHEN NOT x.releases THEN c.epoch END,
        leased_until = CASE WHEN NOT x.releases THEN c.leased_until END,
        created_at = CASE WHEN c.created_at = 0 THEN v_now ELSE c.created_at END,
        updated_at = v_now
      FROM unnest(
          p_wave, p_tenant, p_id, p_event_count, p_status, p_fsm_state, p_idle_seq, p_wake, p_wake_ms, p_releases, v_base
        ) x (wave, tenant, id, event_count, status, fsm_state, idle_seq, wake, wake_ms, releases, base)
      WHERE x.wave = v_wave AND x.base IS NOT NULL AND c.tenant = x.tenant AND c.id = x.id;

      -- Before the events: subscribers to the messages of an agent are found by it.
      IF cardinality(a_change) > 0 THEN
        UPDATE ${schema}.conversations c SET
          kind = coalesce(x.kind, c.kind),
          agent = coalesce(x.agent, c.agent),
          settings = coalesce(x.settings, c.settings),
          title = CASE WHEN x.sets_title THEN x.title ELSE c.title END,
          owner = coalesce(c.owner, CASE WHEN x.child_of IS NOT NULL THEN (${ownerOfParent(schema)}) END, x.owner),
          parent = coalesce(x.parent, c.parent),
          child_of = CASE WHEN x.parent IS NULL THEN c.child_of ELSE x.child_of END
        FROM unnest(a_change, a_kind, a_agent, a_settings, a_title, a_sets_title, a_parent, a_child_of, a_owner)
          x (change, kind, agent, settings, title, sets_title, parent, child_of, owner)
        WHERE p_wave[x.change] = v_wave AND v_base[x.change] IS NOT NULL
          AND c.tenant = p_tenant[x.change] AND c.id = p_id[x.change];
      END IF;

      -- Before slots are counted: what is being cancelled passes.
      IF EXISTS (SELECT FROM unnest(e_type) e (type) WHERE e.type IN ('cancel_requested', 'turn_ended')) THEN
        UPDATE ${schema}.conversations c SET terminating = e.terminating
          FROM (
            SELECT DISTINCT ON (e.change) e.change, e.type = 'cancel_requested' AS terminating
            FROM unnest(e_change, e_index, e_type) e (change, index, type)
            WHERE e.type IN ('cancel_requested', 'turn_ended') ORDER BY e.change, e.index DESC
          ) e
          WHERE p_wave[e.change] = v_wave AND v_base[e.change] IS NOT NULL
            AND c.tenant = p_tenant[e.change] AND c.id = p_id[e.change] AND c.terminating <> e.terminating;
      END IF;

      -- After the agent is set, which may be paused.
      IF cardinality(l_change) > 0 THEN
        -- A second row for the change, which has the epoch as its seq.
        FOR change, outcome, seq IN
          UPDATE ${schema}.conversations c SET ${claimedColumns(schema, 'l.holder', 'l.ms', 'v_now')}
          FROM unnest(l_change, l_holder, l_ms, l_suspects) l (change, holder, ms, suspects)
          WHERE cardinality(l_account) = 0 AND p_wave[l.change] = v_wave AND v_base[l.change] IS NOT NULL
            AND c.tenant = p_tenant[l.change] AND c.id = p_id[l.change] AND coalesce(c.leased_until, 0) <= v_now
            AND (l.suspects IS NOT FALSE OR ${lapsedAfter('l.holder', 'v_now')} IS NULL) AND ${isNotPaused(schema)}
          RETURNING l.change, CASE WHEN ${isQuarantined} THEN 'quarantined' ELSE 'leased' END, c.epoch
        LOOP
          CONTINUE WHEN outcome <> 'leased';
          v_epoch[change] := seq;
          RETURN NEXT;
        END LOOP;
        -- Under limits one by one: each counts those before it. All rows of the batch are locked, so a claim that counts waits for no row.
        FOR v_lease IN 1 .. cardinality(l_account) LOOP
          change := l_change[v_lease];
          CONTINUE WHEN p_wave[change] <> v_wave OR v_base[change] IS NULL;
          CONTINUE WHEN NOT EXISTS (
            SELECT FROM ${schema}.conversations c WHERE c.tenant = p_tenant[change] AND c.id = p_id[change] AND coalesce(c.leased_until, 0) <= v_now
              AND ${isNotPaused(schema)}
          );
          outcome := 'limited';
          seq := NULL;
          call_id := ${schema}.reached_limit(
            p_tenant[change], p_id[change], l_tenant_limit[v_lease], l_agent_limit[v_lease], l_account[v_lease], l_account_limit[v_lease]
          );
          IF call_id IS NULL THEN
            UPDATE ${schema}.conversations c SET ${claimedColumns(schema, 'l_holder[v_lease]', 'l_ms[v_lease]', 'v_now', 'l_account[v_lease]')}
              WHERE c.tenant = p_tenant[change] AND c.id = p_id[change]
                AND (coalesce(l_suspects[v_lease], true) OR ${lapsedAfter('l_holder[v_lease]', 'v_now')} IS NULL)
              RETURNING CASE WHEN ${isQuarantined} THEN 'quarantined' ELSE 'leased' END, c.epoch INTO outcome, seq;
            CONTINUE WHEN outcome IS DISTINCT FROM 'leased';
            v_epoch[change] := seq;
          END IF;
          at := NULL;
          RETURN NEXT;
          call_id := NULL;
        END LOOP;
        -- A change that is known by its key is told of the lease it got, as long as that is what it was.
        FOR change, outcome, seq IN
          UPDATE ${schema}.conversations c SET leased_until = v_now + l.ms
          FROM unnest(l_change, l_holder, l_ms) l (change, holder, ms)
          JOIN ${schema}.commit_keys k
            ON k.tenant = p_tenant[l.change] AND k.conversation_id = p_id[l.change] AND k.key = p_key[l.change]
          WHERE p_wave[l.change] = v_wave AND v_base[l.change] IS NULL AND k.digest IS NOT DISTINCT FROM p_digest[l.change]
            AND c.tenant = p_tenant[l.change] AND c.id = p_id[l.change] AND c.epoch = k.epoch AND c.holder = l.holder
          RETURNING l.change, 'leased', c.epoch
        LOOP
          RETURN NEXT;
        END LOOP;
      END IF;

      INSERT INTO ${schema}.events (tenant, conversation_id, seq, at, type, content)
        SELECT p_tenant[e.change], p_id[e.change], v_base[e.change] + e.index, v_now, e.type, e.content
        FROM unnest(e_change, e_index, e_type, e_content) e (change, index, type, content)
        WHERE p_wave[e.change] = v_wave AND v_base[e.change] IS NOT NULL;

      -- A lease that is released takes its lapses along.
      IF EXISTS (
        SELECT FROM unnest(e_change, e_type) e (change, type) WHERE e.type = 'turn_ended' AND NOT p_releases[e.change]
      ) THEN
        UPDATE ${schema}.conversations c SET lapsed = NULL
          FROM unnest(e_change, e_type) e (change, type)
          WHERE e.type = 'turn_ended' AND p_wave[e.change] = v_wave AND v_base[e.change] IS NOT NULL
            AND c.tenant = p_tenant[e.change] AND c.id = p_id[e.change] AND c.lapsed IS NOT NULL;
      END IF;

      IF v_has_keys THEN
        INSERT INTO ${schema}.commit_keys (tenant, conversation_id, key, digest, seq, epoch)
          SELECT x.tenant, x.id, x.key, x.digest, x.base + x.event_count, x.epoch
          FROM unnest(p_wave, p_tenant, p_id, p_key, p_digest, p_event_count, v_base, v_epoch)
            x (wave, tenant, id, key, digest, event_count, base, epoch)
          WHERE x.wave = v_wave AND x.key IS NOT NULL AND x.base IS NOT NULL;
      END IF;

      IF cardinality(r_change) > 0 THEN
        UPDATE ${schema}.calls t SET
          status = r.status, result = r.result, resolved_at = v_now, resolved_seq = v_base[r.change] + 1 + r.event
        FROM unnest(r_change, r_call, r_status, r_result, r_event) r (change, call, status, result, event)
        WHERE p_wave[r.change] = v_wave AND v_base[r.change] IS NOT NULL
          AND t.tenant = p_tenant[r.change] AND t.id = r.call;
      END IF;

      IF cardinality(c_change) > 0 THEN
        INSERT INTO ${schema}.calls AS t (tenant, id, conversation_id, name, executor, status, args, result, round, kind,
            prompt, expires_at, created_at, resolved_at, resolved_seq, meta, notice)
          SELECT p_tenant[w.change], w.id, p_id[w.change], w.name, w.executor, w.status, w.args, w.result, w.round, w.kind,
            w.prompt, v_now + w.expires_in, v_now, CASE WHEN w.status <> 'pending' THEN v_now END, NULL, w.meta, w.notice
          FROM unnest(c_change, c_id, c_name, c_executor, c_status, c_args, c_result, c_round, c_kind, c_prompt, c_expires_in,
              c_meta, c_note)
            w (change, id, name, executor, status, args, result, round, kind, prompt, expires_in, meta, notice)
          WHERE p_wave[w.change] = v_wave AND v_base[w.change] IS NOT NULL
          ON CONFLICT (tenant, id) DO UPDATE SET
            name = excluded.name, executor = excluded.executor, status = excluded.status, args = excluded.args,
            result = excluded.result, round = excluded.round, kind = excluded.kind, prompt = excluded.prompt,
            expires_at = excluded.expires_at, resolved_at = excluded.resolved_at, resolved_seq = NULL,
            meta = coalesce(excluded.meta, t.meta), notice = excluded.notice
          WHERE t.conversation_id = excluded.conversation_id;
        GET DIAGNOSTICS v_count = ROW_COUNT;
        -- Since it was judged, another conversation has taken one of the ids: judge again.
        IF v_count <> (
          SELECT count(*) FROM unnest(c_change) w (change) WHERE p_wave[w.change] = v_wave AND v_base[w.change] IS NOT NULL
        ) THEN
          RAISE EXCEPTION 'a call id was taken meanwhile' USING ERRCODE = 'serialization_failure';
        END IF;
      END IF;

      IF cardinality(b_hash) > 0 THEN
        INSERT INTO ${schema}.blob_refs (tenant, conversation_id, hash, first_seq)
          SELECT b.tenant, p_id[x.change], b.hash, v_base[x.change] + 1
          FROM unnest(b_change, b_hash) x (change, hash)
          JOIN ${schema}.blobs b ON b.tenant = p_tenant[x.change] AND b.hash = x.hash
          WHERE p_wave[x.change] = v_wave AND v_base[x.change] IS NOT NULL
          ON CONFLICT DO NOTHING;
        UPDATE ${schema}.blobs b SET pins = greatest(b.pins - x.refs, 0)
          FROM (
            SELECT p_tenant[y.change] AS tenant, y.hash, count(*) AS refs
            FROM unnest(b_change, b_hash) y (change, hash)
            WHERE p_wave[y.change] = v_wave AND v_base[y.change] IS NOT NULL
            GROUP BY 1, 2
          ) x
          WHERE b.tenant = x.tenant AND b.hash = x.hash;
      END IF;
    END LOOP;

    IF v_has_placeholders THEN
      DELETE FROM ${schema}.conversations c
        USING unnest(p_tenant, p_id) x (tenant, id)
        -- Not as a plain column, which would invite the index of the listing.
        WHERE c.tenant = x.tenant AND c.id = x.id AND c.created_at + 0 = 0;
    END IF;
  END $$;
`

/** Computes the outcome of each change of the wave, in the order of checks. Most changes have no call rows. */
const judge = (schema: string, hasCalls: boolean): string => `
      FOR change, outcome, v_last_seq, seq, call_id, round IN
        SELECT x.number,
          CASE
            WHEN k.seq IS NOT NULL AND k.digest IS DISTINCT FROM x.digest THEN 'key_reused'
            WHEN k.seq IS NOT NULL THEN 'known'
            WHEN x.epoch IS NOT NULL AND x.epoch IS DISTINCT FROM c.epoch THEN 'epoch'
            WHEN x.needs_free IS TRUE AND (c.leased_until > v_now OR EXISTS (${pendingCall(schema)})) THEN 'owned'
            WHEN x.expected_seq <> coalesce(c.last_seq, 0) THEN 'seq'
            WHEN x.expected_at IS NOT NULL AND NOT EXISTS (${lastEventAt(schema)}) THEN 'seq'
            WHEN x.expected_agent IS NOT NULL AND x.expected_agent IS DISTINCT FROM c.agent THEN 'seq'
            ${hasCalls ? "WHEN g.call IS NOT NULL THEN 'stale'" : ''}
            WHEN coalesce(c.created_at, 0) = 0 AND NOT x.creates THEN 'missing'
            ${hasCalls ? "WHEN o.call IS NOT NULL THEN 'call_elsewhere'" : ''}
            WHEN x.has_settings AND c.created_at > 0 AND NOT p_merged_settings THEN 'settings'
            ELSE 'ok'
          END,
          coalesce(c.last_seq, 0), k.seq, ${hasCalls ? 'coalesce(g.call, o.call), g.round' : 'NULL, NULL'}
        FROM unnest(
            p_wave, p_tenant, p_id, p_expected_seq, p_epoch, p_key, p_digest, p_creates, p_has_settings, p_expected_at, p_expected_agent,
            p_needs_free
          ) WITH ORDINALITY x (
            wave, tenant, id, expected_seq, epoch, key, digest, creates, has_settings, expected_at, expected_agent, needs_free, number
          )
        LEFT JOIN ${schema}.conversations c ON c.tenant = x.tenant AND c.id = x.id
        LEFT JOIN ${schema}.commit_keys k ON k.tenant = x.tenant AND k.conversation_id = x.id AND k.key = x.key
        ${hasCalls ? callChecks(schema) : ''}
        WHERE x.wave = v_wave
      LOOP
        at := NULL;
        IF outcome = 'ok' THEN
          v_base[change] := v_last_seq;
          seq := v_last_seq + p_event_count[change];
          at := v_now;
        ELSIF outcome <> 'known' THEN
          seq := v_last_seq;
        END IF;
        RETURN NEXT;
      END LOOP;
`

/** Pending calls, except those that the change ends. */
const pendingCall = (schema: string): string =>
  `SELECT FROM ${schema}.calls t WHERE t.tenant ${secondary} = x.tenant AND t.conversation_id = x.id AND t.status = 'pending'
              AND NOT EXISTS (SELECT FROM unnest(r_change, r_call) r (change, call) WHERE r.change = x.number AND r.call = t.id)`

/** For a child agent under the alias c, whose parent the change names. */
const ownerOfParent = (schema: string): string =>
  `SELECT p.owner FROM ${schema}.conversations p WHERE p.tenant = c.tenant AND p.id = x.child_of`

const lastEventAt = (schema: string): string =>
  `SELECT FROM ${schema}.events v WHERE v.tenant = x.tenant AND v.conversation_id = x.id AND v.seq = x.expected_seq AND v.at = x.expected_at`

/**
 * g: the first guard that fails; o: the first call row that belongs to another conversation. Each row is looked up separately by its primary key: a join may
 * read all rows of the tenant for each one, if its plan was made while the table was small.
 */
const callChecks = (schema: string): string => `
        LEFT JOIN LATERAL (
          SELECT r.call, r.round
          FROM unnest(r_change, r_call, r_round, r_due) WITH ORDINALITY r (change, call, round, due, position)
          LEFT JOIN LATERAL (SELECT * FROM ${schema}.calls WHERE tenant = x.tenant AND id = r.call LIMIT 1) t ON true
          WHERE r.change = x.number AND (
            t.conversation_id = x.id AND t.status = 'pending' AND t.round = r.round AND (NOT r.due OR t.expires_at <= v_now)
          ) IS NOT TRUE
          ORDER BY r.position LIMIT 1
        ) g ON true
        LEFT JOIN LATERAL (
          SELECT w.call
          FROM unnest(c_change, c_id) WITH ORDINALITY w (change, call, position)
          JOIN LATERAL (SELECT * FROM ${schema}.calls WHERE tenant = x.tenant AND id = w.call LIMIT 1) t ON t.conversation_id <> x.id
          WHERE w.change = x.number
          ORDER BY w.position LIMIT 1
        ) o ON true
`
