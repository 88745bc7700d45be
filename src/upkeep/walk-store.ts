import type { ConversationRow } from '../store/upkeep.ts'
import type { BlobHead, UpkeepConversation, UpkeepReader } from '../store/upkeep-reader.ts'

/** Told of everything in a store, in one order that does not depend on the backend. What it returns is waited for. */
export type Visitor = {
  tenant?(tenant: string): Wait
  blob?(blob: BlobHead, bytes: Uint8Array | null): Wait
  conversation?(conversation: UpkeepConversation, tenant: string): Wait
  /** Of the conversation told of last. */
  row?(row: ConversationRow): Wait
  conversationEnd?(): Wait
  snapshot?(id: string, snapshot: string): Wait
}

type Wait = void | Promise<void>

/** `tenant` null: all of them. Of each tenant first the blobs, so that what refers to them comes later. */
export async function walkStore(reader: UpkeepReader, tenant: string | null, visitor: Visitor): Promise<void> {
  for await (const found of reader.tenants()) {
    if (tenant === null || tenant === found) await walkTenant(reader, found, visitor)
  }
}

async function walkTenant(reader: UpkeepReader, tenant: string, visitor: Visitor): Promise<void> {
  await visitor.tenant?.(tenant)
  for await (const blob of reader.blobs(tenant)) {
    await visitor.blob?.(blob, await reader.blobBytes(tenant, blob.hash))
  }
  for await (const conversation of reader.conversations(tenant)) {
    await visitor.conversation?.(conversation, tenant)
    for await (const row of reader.rows(tenant, conversation.id)) {
      await visitor.row?.(row)
    }
    await visitor.conversationEnd?.()
  }
  for await (const { id, snapshot } of reader.snapshots(tenant)) await visitor.snapshot?.(id, snapshot)
}
