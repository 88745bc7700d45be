import { nowMs, secondary } from './columns.ts'

/** Deletes a conversation with all its rows, and each blob whose last reference goes with it. */
export const deleteFunctions = (schema: string): string => `
  -- A deletion and a commit that restores the id exclude each other: there may be no row yet that both could lock.
  CREATE FUNCTION ${schema}.tombstone_lock(p_tenant text, p_id text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('${schema.replaceAll("'", "''")}' || ' ' || p_tenant || ' ' || p_id, 0))
  $$;

  CREATE FUNCTION ${schema}.leave_tombstones(p_tenant text, p_ids text[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO ${schema}.tombstones (tenant, id, at)
      SELECT p_tenant, d.id, n.now FROM (SELECT DISTINCT unnest(p_ids) AS id) d, (SELECT ${nowMs} AS now) n
    ON CONFLICT (tenant, id) DO UPDATE SET at = greatest(tombstones.at, excluded.at)
  $$;

  -- The caller has locked the conversations, so nothing is added to them meanwhile.
  CREATE FUNCTION ${schema}.delete_locked(p_tenant text, p_ids text[], p_spares_pinned boolean)
  RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    v_hashes text[];
    v_count bigint;
  BEGIN
    PERFORM ${schema}.leave_tombstones(p_tenant, p_ids);
    DELETE FROM ${schema}.pauses p WHERE p.kind = 'conversation' AND p.tenant = p_tenant AND p.name = ANY (p_ids);
    -- In the order that commits lock lines in.
    PERFORM 1 FROM ${schema}.outbox_lines l
      WHERE l.tenant = p_tenant AND l.conversation_id = ANY (p_ids)
      ORDER BY l.conversation_id, l.subscriber FOR UPDATE;
    DELETE FROM ${schema}.outbox_lines l WHERE l.tenant = p_tenant AND l.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.outbox o WHERE o.tenant = p_tenant AND o.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.outbox_failed f WHERE f.tenant = p_tenant AND f.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.events t WHERE t.tenant = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.commit_keys t WHERE t.tenant = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.calls t WHERE t.tenant ${secondary} = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.summaries t WHERE t.tenant = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.model_calls t WHERE t.tenant = p_tenant AND t.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.snapshots t WHERE t.tenant = p_tenant AND t.id = ANY (p_ids);

    SELECT array_agg(DISTINCT r.hash) INTO v_hashes FROM ${schema}.blob_refs r
      WHERE r.tenant = p_tenant AND r.conversation_id = ANY (p_ids);
    PERFORM 1 FROM ${schema}.blobs b WHERE b.tenant = p_tenant AND b.hash = ANY (v_hashes) ORDER BY b.hash FOR UPDATE;
    DELETE FROM ${schema}.blob_refs r WHERE r.tenant = p_tenant AND r.conversation_id = ANY (p_ids);
    DELETE FROM ${schema}.blobs b
      WHERE b.tenant = p_tenant AND b.hash = ANY (v_hashes) AND (b.pins = 0 OR NOT p_spares_pinned)
        AND NOT EXISTS (SELECT 1 FROM ${schema}.blob_refs r WHERE r.tenant ${secondary} = p_tenant AND r.hash = b.hash);

    DELETE FROM ${schema}.conversations c WHERE c.tenant = p_tenant AND c.id = ANY (p_ids);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
  END $$;

  CREATE FUNCTION ${schema}.delete_conversation(p_tenant text, p_id text) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    v_locked text[] := ARRAY[p_id];
    v_family text[];
  BEGIN
    PERFORM ${schema}.tombstone_lock(p_tenant, p_id);
    PERFORM ${schema}.leave_tombstones(p_tenant, v_locked);
    LOOP
      PERFORM 1 FROM ${schema}.conversations c
        WHERE c.tenant = p_tenant AND c.id = ANY (v_locked) ORDER BY c.id FOR UPDATE;
      WITH RECURSIVE family (id) AS (
        SELECT c.id FROM ${schema}.conversations c WHERE c.tenant = p_tenant AND c.id = p_id
        UNION
        SELECT c.id FROM family f JOIN ${schema}.conversations c
          ON c.tenant ${secondary} = p_tenant AND c.child_of = f.id
      )
      SELECT coalesce(array_agg(f.id), '{}') INTO v_family FROM family f;
      EXIT WHEN v_family <@ v_locked;
      v_locked := v_family;
    END LOOP;
    DELETE FROM ${schema}.snapshots t WHERE t.tenant = p_tenant AND t.id = p_id;
    RETURN ${schema}.delete_locked(p_tenant, v_family, true);
  END $$;

  CREATE FUNCTION ${schema}.delete_tenant(p_tenant text) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    v_ids text[];
  BEGIN
    SELECT coalesce(array_agg(l.id), '{}') INTO v_ids FROM (
      SELECT c.id FROM ${schema}.conversations c WHERE c.tenant = p_tenant ORDER BY c.id FOR UPDATE
    ) l;
    DELETE FROM ${schema}.snapshots t WHERE t.tenant = p_tenant;
    -- Blobs without references; the others go with the conversations.
    DELETE FROM ${schema}.blobs b WHERE b.tenant = p_tenant
      AND NOT EXISTS (SELECT 1 FROM ${schema}.blob_refs r WHERE r.tenant ${secondary} = p_tenant AND r.hash = b.hash);
    RETURN ${schema}.delete_locked(p_tenant, v_ids, false);
  END $$;
`
