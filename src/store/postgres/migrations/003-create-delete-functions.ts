import { secondary } from '../sql-names.ts'

/** A conversation goes with all that belongs to it; a blob goes with the last conversation that refers to it. */
export const createDeleteFunctions = (schema: string): string => `
  -- The caller has locked the conversations, so nothing is added to them meanwhile.
  CREATE FUNCTION ${schema}.delete_locked(p_tenant text, p_ids text[], p_spares_pinned boolean)
  RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    v_hashes text[];
    v_count bigint;
  BEGIN
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
    -- Those nobody refers to; the others go with the conversations.
    DELETE FROM ${schema}.blobs b WHERE b.tenant = p_tenant
      AND NOT EXISTS (SELECT 1 FROM ${schema}.blob_refs r WHERE r.tenant ${secondary} = p_tenant AND r.hash = b.hash);
    RETURN ${schema}.delete_locked(p_tenant, v_ids, false);
  END $$;
`
