let last = { tenant: '', id: '', key: '["",""]' }

/** One text for a conversation of a tenant, to keep things by. */
export function conversationKey(tenant: string, id: string): string {
  // It is mostly asked for several times in a row.
  if (last.tenant !== tenant || last.id !== id) last = { tenant, id, key: JSON.stringify([tenant, id]) }
  return last.key
}
