import fc from 'fast-check'
import { conversationId, tenant } from './names.ts'

/** Which tenant, and through which of the open stores. */
export const atTenant = { tenant, via: fc.nat({ max: 5 }) }

export const atConversation = { ...atTenant, id: conversationId }
