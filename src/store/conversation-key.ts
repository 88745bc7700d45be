/** One text for a conversation of a tenant, to keep things by. */
export function conversationKey(tenant: string, id: string): string {
  return JSON.stringify([tenant, id])
}
